from pathlib import Path
from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.memorization.points import DEFAULT, one_model_tests, pair_tests
from clipaudit.memorization.wiring import MemorizationFiles
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.models import ModelFiles

DEMO = Path(__file__).parents[2] / "config/demo.yaml"


@pytest.fixture
def files():
    run = parse_settings(read_settings(DEMO))
    return MemorizationFiles(run.memorization, ModelFiles(CorpusFiles(run)))


def test_a_point_reads_the_recalls_of_both_of_its_models(files):
    public = files.audit.publics[0]

    found = files.point_inputs(SimpleNamespace(point=DEFAULT, public=public))

    models = {name: found[f"recalls_{name}"][0].split("/")[2] for name in ("a", "b")}
    assert models == {name: files.points[DEFAULT].encoder(name) for name in ("a", "b")}


def test_the_hold_out_set_is_given_by_the_manifests_of_its_sources(files):
    found = files.point_inputs(SimpleNamespace(point=DEFAULT, public=files.audit.publics[0]))

    with_holdout = [source for source, sets in files.sets.items() if "set-holdout" in sets]
    assert [path.split("/")[2] for path in found["kept_holdout"]] == with_holdout


def test_examples_are_compared_with_the_hold_out_set_of_every_source(files):
    wildcards = SimpleNamespace(public=files.audit.publics[0])

    found = files.example_inputs(wildcards)

    assert found["kept_holdout"] == [
        path for path in files.set_manifests() if "set-holdout" in path
    ]


def test_sets_have_one_manifest_at_full_size(files):
    names = {path.split("/")[3] for path in files.set_manifests()}

    assert names == {"set-a", "set-b", "set-public", "set-holdout"}


def test_a_detector_from_the_hub_needs_no_input_files(files):
    assert files.detector_files() == []


@pytest.fixture
def tests_of():
    """A function: the pair tests of the demo, with some settings of the audit replaced."""

    def build(**changes):
        settings = read_settings(DEMO)
        settings["memorization"] |= changes
        run = parse_settings(settings)
        return pair_tests(run.memorization, run.recipes)

    return build


def test_each_model_is_tested_on_sources_that_have_members_and_a_holdout(tests_of):
    told = [(test.target, test.reference, test.source, test.holdout) for test in tests_of()]

    assert told == [
        *(("scenes.set-a", "scenes.set-b", name, name) for name in ("scenes", "album")),
        *(("scenes.set-b", "scenes.set-a", name, name) for name in ("scenes", "album")),
    ]


def test_a_target_is_tested_on_a_against_the_model_of_b_or_a_named_reference(tests_of):
    of_b, named = (
        tests_of(targets=["own"], reference=reference)[-1] for reference in (None, "reader")
    )

    assert (of_b.target, of_b.reference, of_b.members) == ("own", "scenes.set-b", "set-a")
    assert named.reference == "reader"


def test_sets_of_different_sources_are_compared_if_no_source_has_both(tests_of):
    sources = {"scenes": {"public": 100, "holdout": 600}, "album": {"train": 100}}

    compared = [(test.source, test.holdout) for test in tests_of(sources=sources)]

    assert compared == [("album", "scenes")] * 2


def test_a_target_without_a_holdout_is_refused(tests_of):
    sources = {"scenes": {"train": 100, "public": 100}}

    with pytest.raises(ConfigError, match="one of the sources needs `holdout`"):
        tests_of(sources=sources, targets=["own"])


def test_a_target_that_reads_no_text_is_refused(tests_of):
    with pytest.raises(ConfigError, match=r"memorization\.targets: thumbnail is the plug-in"):
        tests_of(targets=["thumbnail"])


def test_a_pair_test_reads_scores_recalls_and_both_sets(files):
    wildcards = SimpleNamespace(encoder="scenes.set-b", source="scenes", holdout="scenes")

    found = files.pair_test_inputs(wildcards)

    assert found == {
        "scores_target": ["results/pair_scores/scenes.set-b/scenes/00000.json"],
        "scores_reference": ["results/pair_scores/scenes.set-a/scenes/00000.json"],
        "recalls_target": ["results/recalls/scenes.set-b/scenes/scenes/00000.json"],
        "recalls_reference": ["results/recalls/scenes.set-a/scenes/scenes/00000.json"],
        "members": ["results/manifests/scenes/set-b/00000.json"],
        "holdout": ["results/manifests/scenes/set-holdout/00000.json"],
    }


@pytest.mark.parametrize(
    ("asked", "folder"),
    [
        ("augmented", "augmented_scores"),
        ("augmented_pictures", "augmented_picture_scores"),
    ],
)
def test_augmented_captions_and_images_are_scored_by_the_target_on_request(asked, folder):
    settings = read_settings(DEMO)
    settings["memorization"][asked] = 4
    run = parse_settings(settings)
    wildcards = SimpleNamespace(encoder="scenes.set-a", source="scenes", holdout="scenes")

    files = MemorizationFiles(run.memorization, ModelFiles(CorpusFiles(run)))

    found = files.pair_test_inputs(wildcards)
    scored = {name: paths for name, paths in found.items() if name.startswith("scores_augmented")}
    assert scored == {f"scores_{asked}": [f"results/{folder}/scenes.set-a/scenes/00000.json"]}


@pytest.fixture
def over_seeds():
    settings = read_settings(DEMO)
    settings["memorization"]["seeds"] = 2
    run = parse_settings(settings)
    return MemorizationFiles(run.memorization, ModelFiles(CorpusFiles(run)))


def test_the_default_models_of_all_seeds_are_tested_on_their_own_split(over_seeds):
    wildcards = SimpleNamespace(source="album", holdout="album")

    assert over_seeds.default_models(wildcards) == [
        ["scenes.set-a", "scenes.set-b"],
        ["scenes.seed-1.set-a-cut-1", "scenes.seed-1.set-b-cut-1"],
    ]
    second = SimpleNamespace(encoder="scenes.seed-1.set-b-cut-1", **vars(wildcards))
    found = over_seeds.pair_test_inputs(second)
    assert found["members"] == ["results/manifests/album/set-b-cut-1/00000.json"]
    assert found["holdout"] == ["results/manifests/album/set-holdout-cut-1/00000.json"]


def test_the_mean_over_seeds_reads_the_tests_of_all_default_models(over_seeds):
    found = over_seeds.default_tests(SimpleNamespace(source="scenes", holdout="scenes"))

    assert [path.split("/")[2] for path in found] == [
        *("scenes.set-a", "scenes.set-b"),
        *("scenes.seed-1.set-a-cut-1", "scenes.seed-1.set-b-cut-1"),
    ]


def test_the_one_model_test_of_a_further_seed_uses_its_own_model_of_a_and_split(over_seeds):
    wildcards = SimpleNamespace(source="scenes", holdout="scenes")
    model = "scenes.seed-1.set-a-cut-1"

    averaged = over_seeds.default_one_models(wildcards)
    read = over_seeds.one_model_inputs(SimpleNamespace(encoder=model, **vars(wildcards)))

    assert [path.split("/")[2] for path in averaged] == ["scenes.set-a", model]
    assert read["members"] == ["results/manifests/scenes/set-a-cut-1/00000.json"]
    assert read["words"] == [f"results/word_recalls/{model}/scenes/scenes/00000.json"]
    assert read["model"] == ["results/recalls/scenes.seed-1.set-b-cut-1/scenes/scenes/00000.json"]


def one_model_of(**changes):
    """The one-model tests of the demo, with some settings of the audit replaced."""
    settings = read_settings(DEMO)
    settings["memorization"] |= changes
    run = parse_settings(settings)
    tests = one_model_tests(run.memorization, run.recipes, run.corpora, run.encoders)
    return [(test.of.target, test.public, test.captions) for test in tests]


def test_the_default_model_of_a_and_the_targets_are_tested_against_captions():
    assert one_model_of(targets=["reader"]) == [
        *[("scenes.set-a", "scenes", "own")] * 2,  # on the scenes and on the album
        *[("reader", "scenes", "own")] * 2,
    ]


@pytest.mark.parametrize(
    ("changes", "captions"),
    [({"text_encoder": "reader"}, "reader"), ({"encoder": "thumbnail"}, "scenes.set-a")],
)
def test_captions_are_embedded_by_the_text_encoder_or_the_target_itself(changes, captions):
    assert one_model_of(**changes)[0] == ("scenes.set-a", "scenes", captions)


def test_a_one_model_test_reads_the_recalls_of_its_three_references(files):
    wildcards = SimpleNamespace(encoder="scenes.set-a", source="scenes", holdout="scenes")

    found = files.one_model_inputs(wildcards)

    assert {name: paths for name, paths in found.items() if name not in ("members", "holdout")} == {
        "target": ["results/recalls/scenes.set-a/scenes/scenes/00000.json"],
        "words": ["results/word_recalls/scenes.set-a/scenes/scenes/00000.json"],
        "captions": ["results/caption_recalls/own/scenes/scenes/00000.json"],
        "model": ["results/recalls/scenes.set-b/scenes/scenes/00000.json"],
    }
