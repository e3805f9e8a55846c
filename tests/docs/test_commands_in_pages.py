"""Commands in README and docs exist, with their options; a test runs each, or it is excluded."""

import importlib.util
import re

import click
import pytest
from open_clip_train.params import parse_args
from pagecommands import ROOT, shown_commands
from snakemake.cli import get_argument_parser

from clipaudit.cli.commands import commands
from clipaudit.cli.options import HELP_OPTIONS

ALL = sorted(set(shown_commands()))
OF = {
    program: [shown for shown in ALL if shown.words[0] == program]
    for program in ("clipaudit", "make", "snakemake", "python")
}

# Pages whose blocks a test runs unchanged.
RUN_WHOLE = {
    "docs/quickstart.md": "workflow/test_quickstart.py",
    "docs/tutorial.md": "workflow/test_quickstart.py",
    "docs/questions.md": "workflow/test_catalogs.py",
    "docs/api.md": "test_api.py",
    "docs/plugins.md": "workflow/test_plugins.py",
    "CONTRIBUTING.md": "docs/test_contributing.py",
}
# These tests run the commands of other pages on the tests' data.
RUN_BY = {
    "answers": "workflow/test_answers_command.py",
    "audit": "workflow/test_quickstart.py",
    "compact": "cli/test_compact_command.py",
    "diff": "cli/test_diff_command.py",
    "doctor": "cli/test_doctor_command.py",
    "export": "workflow/test_export_in_a_run.py",
    "gc": "workflow/test_keeping.py",
    "import": "cli/test_import_command.py",
    "init": "cli/test_init_command.py",
    "pin": "cli/test_pin_command.py",
    "plan": "workflow/test_planning_in_a_run.py",
    "prov": "cli/test_prov_command.py",
    "run": "workflow/test_quickstart.py",
    "sample": "cli/test_sample_command.py",
    "sql": "cli/test_sql_command.py",
    "status": "cli/test_status_command.py",
    "stream": "cli/test_stream.py",
    "verify": "cli/test_verify_command.py",
    "why": "workflow/test_why_in_a_run.py",
}
NOT_RUN = {
    "make": "each target takes minutes to hours, downloads or installs; continuous integration "
    "runs those that .ci/run names",
    "snakemake": "tests start it with the profile `local` alone; `slurm` needs a cluster "
    "(make test-slurm)",
    "python": "benchmarks take minutes; the generators of pages are compared by tests",
}


def ids(shown):
    return f"{shown.page}: {' '.join(shown.words)[:60]}"


def resolved(words):
    """The command that the words call, its name, and the words after its name."""
    command, rest = commands, list(words[1:])
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        name = rest.pop(0)
        if name == "..." or name.isupper():  # a placeholder
            break
        assert name in command.commands, f"`{name}` is not among {sorted(command.commands)}"
        command = command.commands[name]
    return command, rest


def options(words):
    return {word.partition("=")[0] for word in words if word.startswith("-")}


@pytest.mark.parametrize("shown", OF["clipaudit"], ids=ids)
def test_the_command_and_its_options_exist(shown):
    command, rest = resolved(shown.words)
    any_of = command.commands.values() if isinstance(command, click.Group) else [command]
    known = {option for one in any_of for each in one.params for option in each.opts}
    known |= {option for each in command.params for option in each.opts} | {"--help", "-h"}

    ends = rest.index("--") if "--" in rest else len(rest)

    assert options(rest[:ends]) - known == set()
    assert options(rest[ends + 1 :]) <= set(get_argument_parser()._option_string_actions)


@pytest.mark.parametrize("shown", [each for each in OF["clipaudit"] if each.whole], ids=ids)
def test_a_command_of_a_block_has_all_required_parameters(shown):
    command, rest = resolved(shown.words)
    if isinstance(command, click.Group):
        return

    given, left, _ = command.make_parser(
        click.Context(command, help_option_names=HELP_OPTIONS)
    ).parse_args(rest)

    required = [each.name for each in command.params if each.required]
    assert left == []
    assert [name for name in required if not given.get(name)] == []


@pytest.mark.parametrize("shown", OF["make"], ids=ids)
def test_the_target_and_its_variables_exist(shown):
    makefile = (ROOT / "Makefile").read_text()
    for word in shown.words[1:]:
        variable = word.partition("=")[0] if "=" in word else None
        named = rf"\$[({{]{variable}|^{variable}\b" if variable else rf"^{re.escape(word)}:"
        assert re.search(named, makefile, re.MULTILINE), word


@pytest.mark.parametrize("shown", OF["snakemake"], ids=ids)
def test_the_rules_exist_and_snakemake_knows_the_options(shown):
    text = "\n".join(path.read_text() for path in [ROOT / "Snakefile", *ROOT.glob("rules/*.smk")])
    rules = re.findall(r"^ *(?:use )?rule (\w+)", text, re.MULTILINE)

    asked = list(shown.words[1:])
    if asked[-1].startswith("--"):  # named in a sentence, without its value
        assert asked.pop() in get_argument_parser()._option_string_actions

    given, unknown = get_argument_parser().parse_known_args(asked)

    assert unknown == []
    assert {word for word in given.targets or [] if re.fullmatch(r"\w+", word)} <= set(rules)


@pytest.mark.parametrize("shown", OF["python"], ids=ids)
def test_the_module_or_program_exists(shown):
    match shown.words[1:]:
        case ("-m", module, *_):
            assert module == "open_clip_train.main" or importlib.util.find_spec(module)
        case (program, *_):
            assert (ROOT / program).exists() or program in (ROOT / shown.page).read_text()


def test_open_clip_is_told_how_many_samples_a_pipe_has():
    trainings = [shown.words[3:] for shown in OF["python"] if "open_clip_train.main" in shown.words]

    asked = [parse_args(list(words)) for words in trainings]

    assert [each.train_data.partition(":")[0] for each in asked] == ["pipe"]
    assert all(each.train_num_samples for each in asked)


def test_settings_files_named_by_commands_exist():
    named = {word for shown in ALL for word in shown.words if re.match(r"config/.*\.yaml$", word)}

    assert len(named) > 2
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("shown", [shown for shown in ALL if shown.whole], ids=ids)
def test_a_block_is_run_by_a_test_or_excluded(shown):
    if shown.page in RUN_WHOLE or shown.words[0] in NOT_RUN:
        return
    assert shown.words[1] in RUN_BY


@pytest.mark.parametrize(("command", "test"), RUN_BY.items())
def test_the_test_of_a_command_calls_it(command, test):
    text = (ROOT / "tests" / test).read_text() + (ROOT / "docs/quickstart.md").read_text() * (
        "quickstart" in test
    )

    assert re.search(rf"[\"'\s]{command}[\"'\s]", text)


@pytest.mark.parametrize(("page", "test"), RUN_WHOLE.items())
def test_the_test_of_a_page_reads_it(page, test):
    text = (ROOT / "tests" / test).read_text() + (ROOT / "tests/examplepackage.py").read_text()

    assert page.removeprefix("docs/") in text
