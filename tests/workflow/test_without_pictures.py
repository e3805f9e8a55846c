"""Galleries where no image of a corpus may be shown, in runs of the micro worlds."""

import json
import shutil

import pytest
from microproject import Project
from parrotworld import SETTINGS

OPEN = "results: results_micro\n"
CLOSED = f"{OPEN}report: {{pictures: false}}\n"


def without_pictures(source, folder, settings="config/micro.yaml"):
    """Return a copy of a project whose settings allow no images."""
    shutil.copytree(source.folder, folder, symlinks=True)
    project = Project(folder)
    project.edit(settings, OPEN, CLOSED)
    return project


def computed_inputs(project, before):
    """Return the inputs of everything computed since `before`, by step."""
    records = [json.loads(path.read_text()) for path in project.computed() - before]
    assert records
    return [(each["ingredients"]["step"], each["ingredients"]["inputs"]) for each in records]


def check_that_only_galleries_change(project, step, **options):
    before, digests = project.computed(), project.digests()

    project.run(**options)

    for made, inputs in computed_inputs(project, before):
        assert made == step
        assert "samples" in inputs
        assert not [file for files in inputs.values() for file in files if ".tar" in file["path"]]
    changed = {path for path, digest in project.digests().items() if digests[path] != digest}
    assert {path.split("/")[0] for path in changed} == {"figures"}
    kinds = {path.removesuffix(".json").rpartition(".")[2] for path in changed}
    assert {"md"} <= kinds <= {"svg", "png", "md"}  # an empty gallery keeps its drawing


@pytest.mark.long
def test_galleries_read_uids_not_tars_and_images_come_back_from_the_store(finished, tmp_path):
    project = without_pictures(finished, tmp_path / "project")

    check_that_only_galleries_change(project, "report_gallery")
    hidden = project.computed()
    project.edit("config/micro.yaml", CLOSED, OPEN)
    project.run()

    assert project.computed() == hidden
    assert project.digests() == finished.digests()


def test_memorized_samples_are_shown_as_uids(remembered, tmp_path):
    project = without_pictures(remembered, tmp_path / "project")

    settings = "config/micro_memorization.yaml"
    check_that_only_galleries_change(project, "report_memorized", config=settings)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_spotted_samples_are_shown_as_uids(parroted_whole, tmp_path):
    project = without_pictures(parroted_whole, tmp_path / "project", SETTINGS)

    check_that_only_galleries_change(project, "report_spotted", config=SETTINGS)
