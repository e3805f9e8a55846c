from pathlib import Path
from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.pictures import left_out
from clipaudit.similarity.prunings import base as start_of
from clipaudit.similarity.prunings import prunings
from clipaudit.similarity.wiring import SimilarityFiles
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.deduplication import DeduplicationFiles
from clipaudit.wiring.models import ModelFiles

MICRO = Path(__file__).parents[2] / "config/micro.yaml"


@pytest.fixture
def files():
    return files_of(read_settings(MICRO))


def files_of(settings):
    run = parse_settings(settings)
    corpora = CorpusFiles(run)
    return SimilarityFiles(run.similarity, ModelFiles(corpora), DeduplicationFiles(corpora))


def test_near_far_and_core_sets_are_made_although_no_model_is_trained_on_them():
    settings = read_settings(MICRO)
    settings["similarity"]["recipe"] = None
    settings["similarity"]["core_set"] = {"kept": 0.5}

    made = {path.split("/")[-2] for path in files_of(settings).untrained_cuts()}

    halves = {f"deduplicated.sketch-{order}-50pct" for order in ("near", "far")}
    assert halves | {"deduplicated.all-far-core"} <= made


def test_sets_that_models_are_trained_on_are_requested_by_their_tables(files):
    assert files.untrained_cuts() == []


def test_pairs_are_evaluated_in_addition_to_the_test_sets(files):
    assert files.evaluated == ["val", "sketch"]
    assert files.pair_test_sets == ["framed"]
    assert files.classified == ["val", "sketch"]


@pytest.mark.parametrize(("lines", "files"), [([0, "1; 2"], []), ("mine/map", ["mine/map"])])
def test_a_test_set_with_its_own_labels_is_classified_by_its_map(lines, files):
    settings = read_settings(MICRO)
    settings["label_sets"]["own"] = {"classes": "mine/names"}
    own = {"labels": "own", "label_map": {"to": "symbols", "classes": lines}}
    settings["corpora"]["sketch"] |= own

    found = files_of(settings)

    assert found.classified == ["val", "sketch"]
    assert found.label_maps() == {"sketch": lines if isinstance(lines, list) else True}
    assert found.classes_of_classifiers() == {
        "learned": ["data/micro/classes.txt"],
        "label_maps": files,
    }


def test_a_test_set_with_its_own_labels_and_no_map_is_reported_as_omitted():
    settings = read_settings(MICRO)
    settings["label_sets"]["own"] = {"classes": "mine/names"}
    settings["corpora"]["sketch"]["labels"] = "own"

    found = files_of(settings)

    assert found.classified == ["val"]
    assert any(
        "sketch: classifiers learned the labels of small" in each for each in left_out(found.run)
    )


def test_a_cut_by_duplicates_reads_groups_and_other_cuts_read_similarities(files):
    def read(pruning):
        job = SimpleNamespace(corpus="large", base="deduplicated", pruning=pruning, part="00000")
        return files.pruned_at_cut_inputs(job)

    cuts = prunings(files.audit, "large").cuts
    pruning = next(name.partition(".")[2] for name in cuts if ".sketch-near" in name)
    assert read(pruning) == {"similarities": ["results_micro/similarities/own/large/00000.json"]}


def test_a_search_within_a_split_uses_no_manifest(files):
    search = next(iter(files.searches))
    wildcards = {"search": search, "part": "00000"}
    found = {
        name: files.searched_manifest(SimpleNamespace(corpus=name, **wildcards))
        for name in files.searches[search].corpora
    }
    assert all(len(paths) == (name not in files.corpora.splits) for name, paths in found.items())


def test_only_the_large_set_is_tested_against_gaps(files):
    gaps = {
        name: files.gap_neighbors(SimpleNamespace(encoder="own", corpus=name))
        for name in ("large", "small")
    }
    assert gaps == {"large": ["results_micro/neighbors/own/small.json"], "small": []}


def test_external_models_are_loaded_from_their_encoder(files):
    elsewhere = SimpleNamespace(recipe="pretrained", manifest="own")
    trained = SimpleNamespace(recipe="brief", manifest="small")

    assert files.evaluated_weights(elsewhere) == files.evaluated_weights(trained)
    assert files.evaluated_model(trained)["encoder"] is None
    assert files.evaluated_model(elsewhere)["encoder"] is not None


def test_only_the_audits_own_encoder_is_searched_with_the_lowest_margin():
    settings = read_settings(MICRO)
    margins = [0.01, -0.02]
    settings["similarity"]["dose_response"] = {"test_set": "sketch", "margins": margins}

    found = files_of(settings)

    own, other = (SimpleNamespace(encoder=name) for name in (found.audit.encoder, "other"))
    assert found.searched_margin(own) == pytest.approx(-0.02)
    assert found.searched_margin(other) == 0
    job = {"corpus": "large", "base": start_of(found.audit)}
    shifted = SimpleNamespace(pruning="sketch-plus-0-01", **job)
    assert (found.gap_test_sets(shifted), found.gap_margin(shifted)) == (
        ["sketch"],
        pytest.approx(0.01),
    )
    assert found.gap_margin(SimpleNamespace(pruning="sketch", **job)) == 0
