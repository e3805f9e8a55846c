"""`near_duplicate_distance: calibrated` of the similarity audit."""

from dataclasses import replace
from pathlib import Path

import pytest

from clipaudit.config import settings as settings_module
from clipaudit.config.audits import audits
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.similarity.reports.galleries import similarity_galleries
from clipaudit.similarity.reports.tables import similarity_tables

ROOT = Path(__file__).parents[2]
POINTER = "calibration/b16-plus/thresholds.json"


@pytest.fixture
def settings():
    found = read_settings(ROOT / "config/laion400m.yaml")
    found["similarity"] |= {"near_duplicate_distance": "calibrated", "galleries": {}}
    return found


@pytest.fixture
def calibrating(monkeypatch):
    """Return a function that lets an audit declare that it calibrates some encoders."""

    def declare(*encoders):
        every = [replace(each, calibrated_encoders=lambda _: encoders) for each in audits()]
        monkeypatch.setattr(settings_module, "audits", lambda *_: tuple(every))

    return declare


def test_no_audit_calibrates_the_encoder(settings):
    with pytest.raises(
        ConfigError, match=r"distance: calibrated, but no audit .* b16-plus; .* none\."
    ):
        parse_settings(settings)


def test_the_calibrated_encoders_are_named(settings, calibrating):
    calibrating("l14", "b32")

    with pytest.raises(
        ConfigError, match=r"calibrated are: b32, l14\. .* give a distance as a number"
    ):
        parse_settings(settings)


def test_table_2_and_galleries_read_the_calibrated_threshold(settings, calibrating):
    calibrating("b16-plus")
    run = parse_settings(settings)

    table = similarity_tables(run)["similarity_table2"]
    galleries = similarity_galleries(run).values()

    assert table.inputs["calibrated"] == [POINTER]
    assert table.parameters["near_duplicate_distance"] is None
    assert "The calibration of ViT-B/16+ chose" in table.notes[0]
    assert {tuple(each.inputs["calibrated"]) for each in galleries} == {(POINTER,)}
    assert {each.options.near_duplicate_distance for each in galleries} == {None}


def test_an_explicit_distance_needs_no_calibration(settings):
    settings["similarity"]["near_duplicate_distance"] = 0.001
    run = parse_settings(settings)

    table = similarity_tables(run)["similarity_table2"]

    assert table.inputs["calibrated"] == []
    assert table.notes == ["The threshold, 0.001, is from this run's settings."]
    assert "encoder_checks/b16-plus/sketch.json" in table.inputs["encoder_checks"]
    assert not any("calibrated" in each.inputs for each in similarity_galleries(run).values())


def test_another_word_is_refused_with_the_given_value(settings):
    settings["similarity"]["near_duplicate_distance"] = "guess"

    with pytest.raises(ConfigError, match=r"near_duplicate_distance.*given: 'guess'"):
        parse_settings(settings)
