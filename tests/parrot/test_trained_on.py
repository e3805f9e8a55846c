"""Which encoders score the corpora that they were trained on."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.profile import profile_tables
from clipaudit.parrot.settings import Parrot
from clipaudit.parrot.trained_on import trained_on

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture
def run():
    """A function: the micro run, an encoder trained on `manifest` and from those `weights`."""

    def build(manifest, weights=None, encoder="own"):
        settings = read_settings(CONFIG / "micro_parrot.yaml")
        start = {"recipe": "brief", "manifest": weights} if weights else None
        settings["recipes"]["next"] = settings["recipes"]["brief"] | {"start_from": start}
        settings["encoders"][encoder] = {"model": f"next/{manifest}", "title": "reader"}
        return parse_settings(settings)

    return build


@pytest.mark.parametrize(
    ("manifest", "weights", "corpora"),
    [
        ("posters", None, {"posters"}),
        ("random-8", None, {"posters"}),
        ("album", None, {"album"}),
        ("album", "notices", {"album", "notices"}),
    ],
)
def test_a_model_is_trained_on_the_corpora_of_its_manifests_and_of_its_start(
    run, manifest, weights, corpora
):
    assert trained_on(run(manifest, weights, "other"), "other") == corpora


def test_tables_warn_if_scores_are_on_the_training_corpus_of_the_encoder(run):
    settings = run("posters")

    tables = profile_tables(settings) | curated_tables(settings)

    for name in ("parrot_table9", "parrot_table14", "parrot_table4"):
        (note,) = tables[name].notes
        assert note.startswith("Warning: reader was trained on posters, which it scores here")


def test_an_encoder_trained_on_other_pairs_gives_no_warning(run):
    settings = run("album")

    tables = profile_tables(settings) | curated_tables(settings)

    notes = [note for table in tables.values() for note in table.notes]
    assert not [note for note in notes if note.startswith("Warning")]


@pytest.mark.parametrize("config", ["demo.yaml", "evidence.yaml"])
def test_no_encoder_of_our_runs_scores_its_own_training_corpus(config):
    settings = parse_settings(read_settings(CONFIG / config))

    audit = settings.section(Parrot)
    assert not any(trained_on(settings, name) & {*audit.corpora} for name in audit.inspected)
