"""Settings of others name data; they never become code."""

import os
from pathlib import Path

import pytest
import yaml

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.steps.jobs import read_workflow

ROOT = Path(__file__).parents[2]
MICRO = ROOT / "config/micro.yaml"
TEMPLATE = '__use_yte__: true\n__definitions__: [import os, os.mkdir("ran")]\n'


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """Return a settings file with Python for Snakemake's template engine."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "theirs.yaml"
    path.write_text(TEMPLATE + f"extends: {MICRO}\n")
    return path


def test_python_in_settings_is_refused(theirs, tmp_path):
    with pytest.raises(ConfigError, match="makes Snakemake run Python code in this file"):
        read_settings(theirs)


def test_python_in_extended_settings_is_refused(theirs, tmp_path):
    (tmp_path / "mine.yaml").write_text("extends: theirs.yaml\n")

    with pytest.raises(ConfigError, match=r"theirs\.yaml: `__use_yte__` makes Snakemake run"):
        read_settings(tmp_path / "mine.yaml")

    assert not os.path.exists("ran")


def test_planning_checks_settings_before_snakemake_reads_them(theirs):
    with pytest.raises(ConfigError, match="makes Snakemake run Python"):
        read_workflow(["all_tables"], ["--configfile", str(theirs)])

    assert not os.path.exists("ran")


@pytest.mark.parametrize("tag", ["python/object/apply:os.mkdir [ran]", "python/name:os.mkdir ''"])
def test_a_yaml_tag_creates_no_object(theirs, tag):
    theirs.write_text(f"store: !!{tag}\n")

    with pytest.raises(ConfigError, match="could not determine a constructor for the tag"):
        read_settings(theirs)

    assert not os.path.exists("ran")


HOSTILE = ["a b", "a;rm -rf x", "$(touch ran)", "`x`", "../up", "-n", "", "ü", "a\n"]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("section", ["corpora", "encoders", "recipes", "label_sets", "worlds"])
def test_a_name_that_becomes_a_folder_has_only_letters_and_digits(section, name):
    content = yaml.safe_load(MICRO.read_text())
    content[section][name] = next(iter(content[section].values()))

    with pytest.raises(ConfigError, match="String should match pattern"):
        parse_settings(content)
