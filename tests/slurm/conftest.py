"""A real cluster, and copies of the project before and after a run on this machine."""

import shutil

import pytest
from clusterproject import BEFORE, SETTINGS, ClusterProject
from microproject import ROOT, Project, copy_project
from slurmcluster import Cluster


@pytest.fixture(scope="session")
def cluster():
    running = Cluster.new()
    try:
        yield running
    finally:
        running.down()


@pytest.fixture(scope="session")
def before_embedding(tmp_path_factory):
    """Return a project run on this machine until embedding is next; for reading only."""
    project = copy_project(tmp_path_factory.mktemp("before"))
    shutil.copy2(ROOT / "tests/slurm/tiny.yaml", project.folder / SETTINGS)
    project.run(config=SETTINGS, target=BEFORE)
    return project


@pytest.fixture(scope="session")
def local(before_embedding, tmp_path_factory):
    """Return a project whose tables are all made on this machine; for reading only."""
    folder = tmp_path_factory.mktemp("local") / "project"
    shutil.copytree(before_embedding.folder, folder, symlinks=True)
    project = Project(folder)
    project.run(config=SETTINGS, target="all_tables")
    return project


@pytest.fixture
def fresh(cluster, tmp_path):
    """Yield a project without results whose runs use the cluster."""
    project = ClusterProject(copy_project(tmp_path / "project").folder)
    shutil.copy2(ROOT / "tests/slurm/tiny.yaml", project.folder / SETTINGS)
    project.install_profile()
    yield project
    project.kill()
    cluster.clear()


@pytest.fixture
def project(cluster, before_embedding, tmp_path):
    """Yield a project in which embedding is next and uses the cluster."""
    folder = tmp_path / "project"
    shutil.copytree(before_embedding.folder, folder, symlinks=True)
    project = ClusterProject(folder)
    project.install_profile()
    yield project
    project.kill()
    cluster.clear()
