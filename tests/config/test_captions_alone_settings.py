"""The parrot audit of settings that name corpora and nothing else."""

from pathlib import Path

import pytest

from clipaudit.config.loading import check_files, parse_settings, read_settings
from clipaudit.config.pictures import left_out
from clipaudit.errors import ConfigError
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.galleries import parrot_galleries
from clipaudit.parrot.reports.inspected_figures import inspected_figures
from clipaudit.parrot.reports.probe_figures import probe_figures
from clipaudit.parrot.reports.profile import profile_tables

ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings():
    whole = read_settings(ROOT / "config/micro_parrot.yaml")
    kept = {name: whole[name] for name in ("results", "store", "worlds", "label_sets", "corpora")}
    return kept | {"parrot": {"corpora": ["posters"]}}


def test_results_without_an_encoder_are_reported_and_the_others_listed_as_left_out(settings):
    run = parse_settings(settings)

    assert set(profile_tables(run)) == {"parrot_table1", "parrot_truth"}
    assert set(probe_figures(run)) == {"parrot_fig5a", "parrot_fig10"}
    assert [curated_tables(run), inspected_figures(run), parrot_galleries(run)] == [{}, {}, {}]
    assert [sentence.partition(",")[0] for sentence in left_out(run)] == [
        "parrot.encoder is not named"
    ]


@pytest.mark.parametrize(
    ("name", "value"), [("test_sets", ["val"]), ("retrieval", ["album"]), ("encoders", ["own"])]
)
def test_settings_that_need_an_encoder_are_refused_without_one(settings, name, value):
    settings["parrot"][name] = value

    with pytest.raises(ConfigError, match=f"encoder: {name} needs the scores of an encoder"):
        parse_settings(settings)


def test_a_missing_file_of_checked_images_is_named(settings, tmp_path):
    settings["parrot"]["checked"] = {"posters": "seen.csv"}

    with pytest.raises(ConfigError, match=r"parrot\.checked\.posters: seen\.csv"):
        check_files(parse_settings(settings), root=tmp_path)


def test_images_are_checked_only_for_a_corpus_that_is_read_for_text(settings):
    settings["parrot"]["checked"] = {"poster": "seen.csv"}

    with pytest.raises(ConfigError, match=r"parrot\.checked.*poster.*posters"):
        parse_settings(settings)
