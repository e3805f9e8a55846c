"""Files that come with the workflow, seen from a folder that is not a clone."""

from pathlib import Path

import pytest

from clipaudit.config.loading import read_settings
from clipaudit.config.shipped import PACKAGE, shipped, workflow_folder


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text("extends: config/micro.yaml\nstore: mine\n")


def test_settings_can_extend_an_example_that_the_folder_lacks():
    assert read_settings(Path("my.yaml"))["results"] == "results_micro"
    assert read_settings(Path("my.yaml"))["store"] == "mine"


def test_a_file_in_the_folder_overrides_an_example_with_its_name():
    Path("config").mkdir()
    Path("config/micro.yaml").write_text("results: mine\n")

    assert read_settings(Path("my.yaml"))["results"] == "mine"


def test_a_path_that_exists_nowhere_stays_unchanged():
    assert shipped(Path("config/gone.yaml")) == Path("config/gone.yaml")


def test_a_snakefile_alone_is_not_our_workflow():
    Path("Snakefile").write_text("rule theirs:\n")

    assert workflow_folder() == PACKAGE.parent
