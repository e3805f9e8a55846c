"""Whatever stops jobs or the run on a cluster, the result is that of an undisturbed local run."""

import re
import time

import pytest
from clusterproject import EMBEDDED
from slurmcluster import command

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(1200)]


@pytest.fixture
def embedding(cluster, project):
    """Return the jobs of a run that has reached embedding, with their nodes."""
    project.start(target=EMBEDDED)
    cluster.running()
    time.sleep(5)  # so that both run, one of them in Snakemake before the script
    return dict(cluster.queue("RUNNING"))


def assert_same(project, local):
    digests = project.digests()
    assert "embeddings/own/sketch/00000.json" in digests
    assert digests.items() <= local.digests().items()
    assert "all as they were written" in project.clipaudit(
        "verify", "--results", "results_micro", "--store", "store_micro"
    )


def test_cancelled_jobs_are_tried_again(cluster, local, project, embedding):
    command("scancel", *embedding)

    project.finish()

    assert set(cluster.ends(embedding).values()) == {"CANCELLED"}
    assert_same(project, local)


def test_jobs_of_a_crashed_node_are_tried_again(cluster, local, project, embedding):
    job, node = next(iter(embedding.items()))
    cluster.crash(node)

    try:
        project.finish()
    finally:
        cluster.revive(node)

    assert cluster.ends([job]) == {job: "NODE_FAIL"}
    assert_same(project, local)


@pytest.mark.parametrize("cancelled", [False, True], ids=["beside its jobs", "after scancel"])
def test_a_killed_run_can_be_started_again(cluster, local, project, embedding, cancelled):
    project.kill()
    (name,) = set(command("squeue", "-h", "-o", "%j").split())
    if cancelled:
        command("scancel", "--name", name)

    project.start(target=EMBEDDED)
    project.finish()

    assert name.startswith("clipaudit_")
    ends = set(cluster.ends(embedding).values())
    assert ends == {"CANCELLED" if cancelled else "COMPLETED"}
    assert_same(project, local)


def test_a_job_out_of_memory_gets_more_at_the_next_attempt(local, project):
    """The job starts with 350 MB: Snakemake takes 200, and PyTorch more than the rest."""
    project.start("--set-resources", "embed:mem_mb=350 * attempt**2", target=EMBEDDED)
    output = project.finish()

    logs = [path.read_text() for path in (project.folder / "logs/slurm/rule_embed").rglob("*.log")]
    assert any(re.search("oom-kill|exceeded memory limit", log) for log in logs), output
    assert any("mem_mb=1400" in log for log in logs)
    assert_same(project, local)
