import subprocess
import sys

import pytest
from click.testing import CliRunner
from exportedrun import two_parts
from handmadecatalog import whole_run_made
from rocrate.rocrate import ROCrate

from clipaudit.cli.options import Group
from clipaudit.cli.prov import prov

group = Group(commands=[prov])


@pytest.fixture
def run(tmp_path):
    run = two_parts(tmp_path)
    run.report("tables", "similarity_table1", "large/pruned/00000")
    run.report("figures", "parrot_fig1", "large/all/00000")
    return run


def ask(run, *arguments):
    folders = ("--results", str(run.results), "--store", str(run.store.root))
    return CliRunner().invoke(group, ["prov", *map(str, arguments), *folders])


def test_help_has_an_example():
    assert "Example:" in prov.help


@pytest.mark.parametrize("form", ["ro-crate", "openlineage"])
def test_every_format_reports_its_output_on_standard_error(run, form):
    output = run.folder / "out"

    answer = ask(run, "--format", form, "--output", output)

    assert (answer.exit_code, answer.stdout) == (0, "")
    assert answer.stderr == f"{output}: 5 actions behind 4 files\n"


def test_a_single_table_can_be_written(run):
    output = run.folder / "events.jsonl"

    ask(run, "--format", "openlineage", "--table", "parrot_fig1", "--output", output)

    assert len(output.read_text().splitlines()) == 3


def test_tables_that_the_catalog_does_not_have_are_named(run):
    run.report("tables", "similarity_of_before", "large/pruned/00000")
    whole_run_made(run.results, "similarity_table1")

    answer = ask(run, "--format", "openlineage", "--output", run.folder / "events.jsonl")

    assert "perhaps of earlier settings: similarity_of_before. Name" in answer.stderr


def test_figures_that_the_report_does_not_have_are_named(run):
    run.report("figures", "copies_of_before", "large/all/00000")
    whole_run_made(run.results)
    (run.results / "report/figures").mkdir(parents=True)
    (run.results / "report/figures/parrot_fig1.html").touch()

    answer = ask(run, "--format", "openlineage", "--output", run.folder / "events.jsonl")

    assert "earlier settings: copies_of_before, similarity_table1. Name" in answer.stderr


def test_an_output_name_with_zip_writes_a_zip_file(run):
    output = run.folder / "crate.zip"

    ask(run, "--format", "ro-crate", "--output", output, "--license", "CC0-1.0")

    assert ROCrate(output).license == "CC0-1.0"


def test_force_replaces_a_crate(run):
    output = run.folder / "crate"
    ask(run, "--format", "ro-crate", "--output", output)

    answer = ask(
        run, "--format", "ro-crate", "--table", "parrot_fig1", "--output", output, "--force"
    )  # fmt: skip

    assert answer.exit_code == 0
    assert len(ROCrate(output).data_entities) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--format", "ro-crate", "--table", "parot_fig1"], 1, "Did you mean parrot_fig1"),
        (["--format", "openlineage", "--summary"], 2, "--license need --format ro-crate"),
        (["--format", "prov-o"], 2, "'prov-o' is not one of 'ro-crate', 'openlineage'"),
    ],
)
def test_an_impossible_request_is_one_message(run, arguments, code, message):
    answer = ask(run, *arguments, "--output", run.folder / "out")

    assert answer.exit_code == code
    assert message in answer.output
    assert not (run.folder / "out").exists()


@pytest.mark.parametrize(
    ("form", "library", "package"),
    [("ro-crate", "rocrate", "rocrate"), ("openlineage", "openlineage-python", "openlineage")],
)
def test_a_missing_library_is_answered_with_its_extra(run, form, library, package, monkeypatch):
    for name in [package, *(each for each in sys.modules if each.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)

    answer = ask(run, "--format", form, "--output", run.folder / "out")

    assert answer.exit_code == 1
    assert f"{library} is not installed" in answer.stderr
    assert "pip install 'clipaudit[prov]'" in answer.stderr
    assert not (run.folder / "out").exists()


def test_help_imports_nothing_heavy():
    program = (
        "import sys\nfrom clipaudit.cli.prov import prov\n"
        "prov(['--help'], standalone_mode=False)\n"
        "heavy = {'pyarrow', 'duckdb', 'numpy', 'rocrate', 'openlineage'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]", done.stderr
