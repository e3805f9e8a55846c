"""`snakemake --profile slurm all_tables` gives what the same run on one machine gives."""

import json
import re

import pytest
from slurmcluster import command

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(1200)]


def test_a_run_on_the_cluster_gives_the_digests_of_a_local_run(local, fresh):
    fresh.start()
    fresh.finish()

    assert "tables/similarity_table2.json" in fresh.digests()
    assert fresh.digests() == local.digests()
    status = json.loads(fresh.clipaudit("status", "--format", "json"))
    assert (status["ended"], status["done"], status["failures"]) == (True, status["total"], [])
    assert status["stages"]["train"]["done"] == 1


def test_a_job_that_requests_a_gpu_runs_on_a_node_with_gpus(cluster, local, project):
    """In these tests' profile, `index` requests what the profile requests for training runs."""
    pointer = "results_micro/samples/sketch/00000.json"
    (project.folder / pointer).unlink()
    before = set(cluster.states())

    project.start(target=pointer)
    project.finish()

    (job,) = set(cluster.states()) - before
    shown = command("scontrol", "show", "job", job)
    assert re.search("NodeList=gpu1\n", shown), shown
    assert re.search("TresPerNode=gres[:/]gpu:1", shown), shown  # 22.05 writes a colon
    assert project.digests().items() <= local.digests().items()
