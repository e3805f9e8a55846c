"""Jobs of a small workflow, as Snakemake sees them."""

import subprocess
import sys
from pathlib import Path

import pytest

from clipaudit.errors import ConfigError, InputError
from clipaudit.steps.jobs import read_workflow

SNAKEFILE = """\
config.update(results="results", store="store")


rule all:
    input:
        "results/whole.json",


rule part:
    input:
        tars="user.tar",
        classes=[],
    output:
        table="results/parts/{part}.json",
    params:
        code="c",
        seed=config["seed"],
    threads: 3
    resources:
        gpu=1,
    script:
        "workflow_scripts/part.py"


rule whole:
    input:
        parts=["results/parts/1.json", "results/parts/0.json"],
    output:
        table="results/whole.json",
    params:
        code="w",
        script="part",
    script:
        "workflow_scripts/part.py"
"""


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("Snakefile").write_text(SNAKEFILE)
    Path("workflow_scripts").mkdir()
    Path("user.tar").write_text("content")
    Path("profile").mkdir()
    Path("profile/config.yaml").write_text("cores: 2\nset-resources:\n  whole:\n    gpu: 4\n")
    return ["--profile", "profile", "--config", "seed=7"]


def test_jobs_come_after_the_jobs_that_make_their_inputs(arguments):
    workflow = read_workflow([], arguments)

    assert [list(job.wildcards.values()) for job in workflow.jobs] == [["0"], ["1"], []]
    assert (str(workflow.results), str(workflow.store)) == ("results", "store")


def test_a_job_has_what_its_script_would_receive(arguments):
    job = read_workflow(["results/parts/1.json"], arguments).jobs[0]

    assert (job.rule, job.script, job.threads) == ("part", "part", 2)  # at most the cores
    assert job.params == {"code": "c", "seed": 7}
    assert job.inputs == {"tars": ["user.tar"], "classes": []}
    assert job.outputs == {"table": ["results/parts/1.json"]}
    assert job.resources["gpu"] == 1


def test_inputs_keep_their_order_and_a_profile_sets_resources(arguments):
    job = read_workflow([], arguments).jobs[-1]

    assert job.inputs == {"parts": ["results/parts/1.json", "results/parts/0.json"]}
    assert (job.script, job.resources["gpu"]) == ("part", 4)


def test_a_job_that_would_start_gives_the_reason(arguments):
    Path("results/parts").mkdir(parents=True)
    for name in ("0", "1"):
        Path(f"results/parts/{name}.json").touch()

    first, second, whole = read_workflow([], arguments).jobs

    assert (first.started, second.started) == (False, False)
    assert whole.cause == "its output is missing"


def test_results_of_which_snakemake_has_no_records_start_every_job(arguments):
    for name in ("parts/0", "parts/1", "whole"):
        Path(f"results/{name}.json").parent.mkdir(parents=True, exist_ok=True)
        Path(f"results/{name}.json").touch()
    Path("results/.actions").mkdir()

    causes = {job.cause for job in read_workflow([], arguments).jobs}

    assert causes == {"Snakemake has no record of its output"}


def test_nothing_is_printed_or_written(arguments, tmp_path, capfd):
    before = sorted(tmp_path.rglob("*"))

    read_workflow([], arguments)

    assert sorted(tmp_path.rglob("*")) == before
    assert capfd.readouterr() == ("", "")


def test_an_input_that_nothing_makes_is_named(arguments):
    Path("user.tar").unlink()

    with pytest.raises(InputError, match=r"Missing input files for rule part.*user\.tar"):
        read_workflow([], arguments)


def test_a_setting_without_a_name_is_refused(arguments):
    with pytest.raises(ConfigError, match=r"--config 7=x: Invalid config definition"):
        read_workflow([], ["--config", "7=x"])


GATHERED = """\
rule gather:
    input:
        members=["results/parts/1.json", "results/parts/0.json"],
    output:
        gathered="results/gathered/parts.list",
    params:
        code="g",
    script:
        "workflow_scripts/gather.py"


"""


def test_a_job_reads_the_pointers_of_a_gathered_list(arguments):
    listed = SNAKEFILE.replace(
        'parts=["results/parts/1.json", "results/parts/0.json"]',
        'parts="results/gathered/parts.list"',
    )
    Path("Snakefile").write_text(listed.replace("rule whole:", f"{GATHERED}rule whole:"))

    jobs = read_workflow([], arguments).jobs

    assert [job.rule for job in jobs] == ["part", "part", "gather", "whole"]
    assert jobs[-1].inputs == {"parts": ["results/parts/1.json", "results/parts/0.json"]}


ELSEWHERE = """\
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor as Executor
from snakemake_interface_executor_plugins.settings import CommonSettings

common_settings = CommonSettings(
    non_local_exec=True, implies_no_shared_fs=False, job_deploy_sources=False
)
"""
SHOWN = """\
import sys

from clipaudit.steps.jobs import read_workflow

print(*[job.threads for job in read_workflow([], sys.argv[1:]).jobs])
"""


def test_the_length_of_a_clusters_queue_is_no_number_of_cores(arguments):
    plugin = Path("snakemake_executor_plugin_elsewhere")
    plugin.mkdir()
    (plugin / "__init__.py").write_text(ELSEWHERE)
    Path("profile/config.yaml").write_text("executor: elsewhere\njobs: 100\n")
    dependent = SNAKEFILE.replace("threads: 3", "threads: cores_of(workflow)")
    Path("Snakefile").write_text(f"from clipaudit.steps.jobs import cores_of\n\n{dependent}")

    shown = subprocess.run(
        [sys.executable, "-c", SHOWN, *arguments], text=True, capture_output=True, check=True
    )

    assert shown.stdout.split() == ["1", "1", "1"]


DEPENDENT = """\
from clipaudit.steps.jobs import cores_of


rule all:
    output:
        "shown",
    threads: cores_of(workflow)
    shell:
        "echo {threads} > {output}"
"""


@pytest.mark.parametrize(("given", "used"), [(None, 1), ("3", 3), ("16", 8)])
def test_a_job_on_a_cluster_has_the_cores_that_it_asked_for(tmp_path, monkeypatch, given, used):
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    if given is not None:
        monkeypatch.setenv("SLURM_CPUS_PER_TASK", given)
    (tmp_path / "Snakefile").write_text(DEPENDENT)
    job = [sys.executable, "-m", "snakemake", "--mode", "remote", "--cores", "8"]

    subprocess.run(job, cwd=tmp_path, check=True, capture_output=True)

    assert int((tmp_path / "shown").read_text()) == used
