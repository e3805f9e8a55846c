"""Real runs of the micro world, in copies of the project, as subprocesses."""

import fcntl
import shutil

import parrotworld
import pytest
import seededworld
from microproject import Project, copy_project


@pytest.fixture(scope="session")
def made_once(tmp_path_factory, worker_id):
    """Return a function: a project that the first test worker makes and all of them read.

    `start` is a finished project whose run continues, `prepare` changes the project before the run,
    `kind` is its class; other arguments are Snakemake's.
    """
    shared = tmp_path_factory.getbasetemp()
    shared = shared if worker_id == "master" else shared.parent

    def make(name, *arguments, start=None, prepare=None, kind=Project, **options):
        folder, made = shared / name, shared / f"{name}.made"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                if start is None:
                    project = kind(copy_project(folder).folder)
                else:
                    project = kind(shutil.copytree(start.folder, folder, symlinks=True))
                if prepare is not None:
                    prepare(project)
                project.run(*arguments, **options)
                made.touch()
        return kind(folder)

    return make


@pytest.fixture(scope="session")
def finished(made_once):
    """Return a project whose tables and figures are all made; for reading only."""
    return made_once("finished")


@pytest.fixture(scope="session")
def seeded(made_once, finished):
    """Return a project with Tables 1, 3 and 4 of two seeds; for reading only."""
    settings, target = seededworld.SETTINGS, seededworld.TABLES
    return made_once("seeded", *settings, start=finished, target=target)


@pytest.fixture(scope="session")
def copied(made_once):
    """Return a project with the report of the copies audit; for reading only."""
    asked = "all_tables all_figures report"
    return made_once("copied", config="config/micro_copies.yaml", target=asked)


@pytest.fixture(scope="session")
def remembered(made_once):
    """Return a project with all tables and figures of the memorization audit; for reading only."""
    return made_once("remembered", config="config/micro_memorization.yaml")


@pytest.fixture
def project(finished, tmp_path):
    """Return a copy of the finished project for a test to change."""
    return Project(shutil.copytree(finished.folder, tmp_path / "project", symlinks=True))


@pytest.fixture
def memorizing(remembered, tmp_path):
    """Return a copy of the finished memorization project for a test to change."""
    return Project(shutil.copytree(remembered.folder, tmp_path / "project", symlinks=True))


@pytest.fixture
def fresh(tmp_path):
    """Return a project without results."""
    return copy_project(tmp_path / "project")


@pytest.fixture(scope="session")
def parroted(made_once):
    """Return a project with a profile, curated sets and one model; for reading only."""
    return made_once("parroted", config=parrotworld.SETTINGS, target=parrotworld.MADE)


@pytest.fixture(scope="session")
def parroted_whole(made_once, parroted):
    """Return a project with all tables and figures of the parrot audit; for reading only."""
    settings = parrotworld.SETTINGS
    tables = made_once("parroted_tables", start=parroted, config=settings, target="all_tables")
    return made_once("parroted_whole", start=tables, config=settings)
