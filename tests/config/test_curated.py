"""The sets and models that the parrot audit's settings stand for."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.parrot.criteria import Curation
from clipaudit.parrot.curated import (
    curated_manifests,
    curated_sets,
    curation_settings,
    derived_model_encoders,
    trained_models,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def micro():
    return read_settings(ROOT / "config/micro_parrot.yaml")


def test_the_papers_sets_are_those_of_the_defaults(micro):
    micro["parrot"]["curations"] = {"corpus": "posters", "recipes": ["brief"]}
    micro["parrot"] |= {"evidence": None, "deduplication": None}

    names = list(curated_sets(parse_settings(micro).parrot.curations))

    assert names[:16] == [
        "random-3000000",
        "without-text-3000000",
        "with-text-3000000",
        "cotr-0-3000000",
        "cotr-0.3-3000000",
        "cotr-0.5-3000000",
        "cotr-0.8-3000000",
        "cotr-1-3000000",
        "rsa-below-0-3000000",
        "rsa-0-3000000",
        "rsa-0.1-3000000",
        "rsa-0.2-3000000",
        "rsa-0.3-3000000",
        "rsc-below-0-3000000",
        "rsc-0-3000000",
        "rsc-0.1-3000000",
    ]
    assert names[18] == "random-12000000"


def test_every_set_is_a_curation_that_can_be_made(micro):
    audit = parse_settings(micro).parrot

    made = {name: Curation(**curation_settings(audit, name)) for name in curated_manifests(audit)}

    assert made["cotr-0-8"].exactly == 0.0
    assert made["heldout-parrot"].above == -1.0
    assert made["debiased"].size is None
    assert {each.seed for each in made.values()} == {0}


def test_the_debiased_subset_asks_for_aesthetics_where_samples_state_them(micro):
    micro["parrot"]["curations"]["debiased"] = {"score": 0.3, "aesthetics_field": "aesthetic"}

    audit = parse_settings(micro).parrot

    assert curation_settings(audit, "debiased")["aesthetics_above"] == 4.5
    assert curation_settings(audit, "random-8")["aesthetics_above"] is None


def test_models_are_those_of_the_grid_and_of_the_evidence(micro):
    run = parse_settings(micro)

    assert trained_models(run.parrot) == [
        ("brief", "random-8"),
        ("brief", "without-text-8"),
        ("brief", "cotr-0.2-8"),
        ("brief", "debiased"),
        ("brief", "with-text-10"),
        ("brief", "with-text-8"),
        ("brief-1", "with-text-8"),
        ("brief-1", "without-text-8"),
    ]
    assert derived_model_encoders(run.parrot).keys() <= run.encoders.keys()
    assert run.encoders["brief.random-8"].model == "brief/random-8"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"corpora": ["posters", "val"]}, "corpora.val.captions is none"),
        ({"encoder": "foreign"}, "parrot.encoder: 'foreign' is not among encoders"),
        ({"test_sets": ["album"]}, "corpora.album.labels: a test set needs labels"),
        ({"retrieval": ["val"]}, "parrot.retrieval: corpora.val.captions is none"),
        ({"corpora": ["notices"]}, "what is not profiled cannot be curated"),
        ({"clusters": {"clusters": 2, "groups": 3}}, "groups: 3 of 2 clusters"),
    ],
)
def test_settings_that_do_not_fit_are_refused(micro, change, message):
    micro["parrot"] |= change

    with pytest.raises(ConfigError, match=message):
        parse_settings(micro)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": ["brief/random-9"]}, "'brief/random-9' is not among the models"),
        ({"recipes": ["long"]}, "parrot.curations.recipes: 'long' is not among recipes"),
        ({"published_models": {"x": "RN50"}}, r"published_models: x is not among recipes \(brief"),
        ({"debiased": None}, "deduplication: it is of the debiased subset"),
        ({"sizes": [9]}, "is not among the models"),
    ],
)
def test_curations_that_do_not_fit_are_refused(micro, change, message):
    micro["parrot"]["curations"] |= change

    with pytest.raises(ConfigError, match=message):
        parse_settings(micro)


def test_two_audits_deduplicate_a_corpus_in_one_way(micro):
    micro["similarity"] = {
        "encoder": "own",
        "recipe": "brief",
        "large": "posters",
        "small": "notices",
        "test_sets": ["val"],
        "deduplication": {"threshold": 0.5},
    }

    with pytest.raises(ConfigError, match="the audits parrot and similarity both deduplicate it"):
        parse_settings(micro)
