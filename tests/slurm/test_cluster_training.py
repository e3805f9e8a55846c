"""Training on two nodes of the cluster gives the weights of two processes on one machine."""

import shutil

import pytest
from clusterproject import SETTINGS
from microproject import Project
from slurmcluster import command

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(1200)]
MODEL = "results_micro/models/brief/large.json"
NODES = ["train:nodes=2", "train:tasks=2", "train:mpi=srun", "train:processes=1"]


@pytest.fixture(scope="session")
def two_processes(before_embedding, tmp_path_factory):
    """Return a project that trained in two processes on this machine; for reading only."""
    folder = tmp_path_factory.mktemp("processes") / "project"
    shutil.copytree(before_embedding.folder, folder, symlinks=True)
    project = Project(folder)
    project.run("--set-resources", "train:processes=2", config=SETTINGS, target=MODEL)
    return project


def test_two_nodes_give_the_weights_of_two_processes_on_one_machine(
    cluster, two_processes, project
):
    Project(project.folder).run(config=SETTINGS, target="results_micro/sealed/large.json")
    before = set(cluster.states())

    project.start("--set-resources", *NODES, target=MODEL)
    project.finish()

    jobs = set(cluster.states()) - before
    shown = [command("scontrol", "show", "job", job) for job in jobs]
    assert any("NodeList=cpu[1-2]" in each for each in shown), shown
    digests = project.digests()
    assert digests["models/brief/large.json"] == two_processes.digests()["models/brief/large.json"]
