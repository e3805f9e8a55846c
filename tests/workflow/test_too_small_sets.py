"""A run whose curated and held-out sets are too small finishes with all tables, which say so."""

import shutil

import numpy as np
import polars as pl
import pytest
from microproject import Project, read
from parrotworld import HELDOUT, SETTINGS

SCORES = ["imagenet", "average", "sync", "final_loss"]
FOLDERS = ("--results", "results_micro", "--store", "store_micro")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]


def sizes(rows):
    return dict(rows.select("curated", "samples").iter_rows())


@pytest.fixture(scope="module")
def project(parroted_whole, tmp_path_factory):
    """Return a copy of the finished project that needs parroting captions in 100 of 120 samples."""
    project = Project(tmp_path_factory.mktemp("small") / "project")
    shutil.copytree(parroted_whole.folder, project.folder, symlinks=True)
    project.edit(SETTINGS, "sizes: [8, 10]", "sizes: [8, 100]")
    project.edit(SETTINGS, "heldout: 2", "heldout: 115")
    project.edit(SETTINGS, "brief/with-text-10, brief/cotr-0.2-8", "brief/cotr-0.2-100")
    project.edit(SETTINGS, "parrot: with-text-8", "parrot: cotr-0.2-100")
    project.run(config=SETTINGS, target="all_tables all_figures")
    project.run(config=SETTINGS, target="results_micro/report")
    return project


def test_the_row_of_a_set_that_is_too_small_says_so(project):
    rows = read(project, "tables/parrot_table11").filter("in_grid")
    printed = (project.results / "tables/parrot_table11.md").read_text()

    assert sizes(rows) == {"cotr-0.2-100": 0}
    assert rows.select(pl.col(SCORES).is_null()).to_numpy().all()
    assert "CoTR ≥ 0.2 / atom, too small" in printed
    assert "eligible samples, and 100 are asked for" in printed


def test_models_of_other_sets_are_trained_and_tested(project):
    rows = read(project, "tables/parrot_table2").filter("in_grid")

    assert sizes(rows) == {"random-8": 8, "without-text-8": 8}
    assert np.isfinite(rows.select(SCORES).to_numpy()).all()


def test_held_out_sets_that_are_too_small_take_no_samples(project):
    for name in HELDOUT:
        assert not read(project, f"manifests/posters/{name}/*")["kept"].any()
    figure = read(project, "figures/parrot_fig7")
    assert set(figure["pictures"]) == {0}
    assert figure["value"].is_null().all()


def test_undefined_differences_are_empty(project):
    table = read(project, "tables/parrot_evidence").filter(against="clean")

    assert table["difference"].is_null().all()
    assert np.isfinite(table["against_value"].to_numpy()).any()


def test_the_answer_lists_what_is_left_out(project):
    page = (project.results / "report/index.html").read_text()

    assert "Left out, the data are too small" in page
    assert "eligible samples, and 100 are asked for" in page


def test_the_run_is_complete(project):
    assert "Nothing to be done" in project.run(config=SETTINGS)
    assert "cotr-0.2-100" in project.clipaudit("why", "parrot_table11", "--all", *FOLDERS)


def test_a_left_out_manifest_is_not_exported(project):
    output = project.clipaudit("stream", "cotr-0.2-100", "0", *FOLDERS, ok=False)

    assert "eligible samples, and 100 are asked for" in output
    assert "Traceback" not in output
