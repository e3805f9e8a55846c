"""The output of `clipaudit plan` for a small workflow."""

import json
from base64 import b64encode
from pathlib import Path

import pytest
from click.testing import CliRunner

from clipaudit.cli.options import Group
from clipaudit.cli.plan import plan
from clipaudit.store.placements import Placement, place
from clipaudit.store.store import Pointer

SNAKEFILE = """\
from clipaudit.errors import ConfigError
from clipaudit.steps.workflow import code, stop_with

config.setdefault("seed", 0)
config.update(results="results", store="store")
if config["seed"] == "many":
    try:
        raise ConfigError("seed: 'many' is not a number.")
    except ConfigError as error:
        stop_with(error)


rule all_tables:
    input:
        "results/samples.json",


rule all_figures:
    input:
        "results/kept.json",


rule report:
    input:
        "results/kept.json",


rule index:
    input:
        tars="user.tar",
    output:
        table="results/samples.json",
    params:
        code=code("index"),
        seed=config["seed"],
    script:
        "workflow_scripts/index.py"


rule prune:
    input:
        base="results/samples.json",
    output:
        table="results/kept.json",
    params:
        code=code("prune"),
    script:
        "workflow_scripts/prune.py"
"""
STEP = """\
from clipaudit.steps.workflow import run_step


def compute(step):
    step.write_bytes("table", b"the same for every seed", ".bin")


run_step(snakemake, compute)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("Snakefile").write_text(SNAKEFILE)
    Path("workflow_scripts").mkdir()
    for name in ("index", "prune"):
        Path("workflow_scripts", f"{name}.py").write_text(STEP)
    Path("profile").mkdir()
    Path("profile/config.yaml").write_text("cores: 1\nrerun-triggers: [mtime, params, input]\n")
    Path("user.tar").write_text("content")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(
        Group(commands=[plan]), ["plan", *arguments], env={"SNAKEMAKE_PROFILE": "profile"}
    )


def test_corpora_that_no_audit_uses_are_reported(folder):
    text = (
        "from clipaudit.config.loading import parse_settings\n"
        'RUN = parse_settings({"corpora": {"web": {"shards": "user.tar"}}})\n'
    )
    Path("Snakefile").write_text(text + SNAKEFILE)

    assert run().output.splitlines()[-1].startswith("No audit uses corpora.web yet. To use one,")
    assert json.loads(run("--format", "json").output)["unused_corpora"] == ["web"]


def test_the_first_argument_may_be_the_settings(folder):
    Path("own.yaml").write_text("corpora: [unfinished\n")

    assert "own.yaml" in run("own.yaml", "prune").output
    assert "none.yaml: no such file. To write one" in run("none.yaml").output


def test_by_default_the_whole_report_of_a_first_run_is_planned(folder):
    answer = run()

    assert answer.exit_code == 0
    assert answer.output.splitlines() == [
        "certain: 2 jobs, an unknown cost, since no such job was recorded",
        "  index: 1 job, never computed before",
        "  prune: 1 job, never computed before",
    ]


def test_planning_writes_nothing_outside_the_store(folder):
    before = sorted(folder.rglob("*"))

    run()

    assert [path for path in sorted(folder.rglob("*")) if path not in before] == [
        path for path in sorted(folder.rglob("*")) if path.is_relative_to(folder / "store")
    ]


def test_jobs_are_listed_with_their_outputs(folder):
    answer = run("--jobs", "results/samples.json")

    assert answer.output.splitlines()[1:] == [
        "  index results/samples.json",
        "    never computed before",
    ]


def test_json_has_every_job_and_the_cost_of_each_fate(folder):
    answer = json.loads(run("--format", "json").output)

    assert [job["fate"] for job in answer["jobs"]] == ["certain", "certain"]
    assert answer["jobs"][1]["waits_for"] == ["results/samples.json"]
    assert answer["summary"]["certain"]["jobs"] == 2
    assert answer["summary"]["certain"]["unknown"] == 2


def test_a_job_that_snakemake_would_not_start_has_the_option_as_run_takes_it(folder):
    pointer = Path("results/samples.json")
    place(pointer.parent, pointer, Placement("lost", "table", {}))
    pointer.write_text(Pointer("0" * 64, 0, 1, "samples").to_json())
    Path(".snakemake/metadata").mkdir(parents=True)
    Path(".snakemake/metadata", b64encode(b"results/samples.json").decode()).touch()

    last = run("results/samples.json").output.splitlines()[-1]

    assert last == "To compute these too: clipaudit run ... -- --forcerun index"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["resuls/kept.json"], "resuls/kept.json: no rule makes this."),
        (["--config", "seed=many"], "seed: 'many' is not a number."),
        (["--config", "seed=1", "n=2"], "n=2: a setting, not a target; write `--config n=2`"),
        (["--profile", "gone"], "gone: no such profile"),
    ],
)
def test_an_impossible_plan_is_one_message(folder, arguments, message):
    answer = run(*arguments)

    assert answer.exit_code == 1
    assert message in answer.output
    assert "Traceback" not in answer.output


def test_a_missing_input_is_named(folder):
    Path("user.tar").unlink()

    answer = run()

    assert answer.exit_code == 1
    assert "Missing input files for rule index" in answer.output
    assert "user.tar" in answer.output


def test_an_unknown_target_is_answered_with_the_nearest(folder):
    Path("results/tables").mkdir(parents=True)
    Path("results/tables/similarity_table1.json").write_text("{}")

    answer = run("results/tables/similarity_table2.json")

    assert "Did you mean results/tables/similarity_table1.json?" in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "seed"], "'seed' is not KEY=VALUE"),
        (["--configfile", "gone.yaml"], "File 'gone.yaml' does not exist"),
        (["--format", "xml"], "'xml' is not one of 'text', 'json'"),
        (["--samples-per-shard", "10"], "need --estimate"),
        (["--estimate", "--samples-per-shard", "large=few"], "'large=few' is neither N nor"),
        (["--estimate", "--samples-per-shard", "²"], "'²' is neither N nor CORPUS=N"),
        (["--estimate", "--samples-per-shard", "=5"], "'=5' is neither N nor CORPUS=N"),
    ],
)
def test_wrong_usage_exits_with_2_and_says_why(arguments, message):
    answer = run(*arguments)

    assert answer.exit_code == 2
    assert message in answer.output
