"""The sets and models that the parrot audit's settings define."""

from pathlib import Path

import pytest
import yaml

from clipaudit.config.loading import check_files, extended, parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.parrot.criteria import Curation
from clipaudit.parrot.curated import (
    curated_manifests,
    curated_sets,
    curation_settings,
    derived_model_encoders,
    repacked,
    trained_models,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def micro():
    return read_settings(ROOT / "config/micro_parrot.yaml")


def test_the_defaults_give_the_papers_sets(micro):
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


def test_sets_with_an_rsa_of_0_or_textless_samples_exist_on_request(micro):
    micro["parrot"]["curations"] |= {"rsa": [0.0, 0.1], "textless_rsa": True}
    audit = parse_settings(micro).parrot

    sets = curated_sets(audit.curations)
    names = [name for name in sets if name.startswith("rsa") and name.endswith("-8")]
    assert names == ["rsa-below-0-8", "rsa-0-8", "rsa-0-or-textless-8", "rsa-0.1-8"]
    assert Curation(**curation_settings(audit, "rsa-0-or-textless-8")).textless
    assert sets["rsa-0-or-textless-8"].curation.title == "RSA ≥ 0.0 or no text"


def test_titles_and_names_state_all_digits_of_a_bound(micro):
    bounds = {"rsa": [0.0, 0.15, 0.2, 0.25], "rsc": [0.05], "rates": [0.3, 0.30000001]}
    micro["parrot"] |= {"evidence": None, "deduplication": None}
    micro["parrot"]["curations"] |= {"grid": None} | bounds

    sets = curated_sets(parse_settings(micro).parrot.curations)

    bounded = [each for each in sets.values() if each.size == 8 and each.control is None]
    titles = {each.curation.title for each in bounded}
    assert {"RSA < 0.0", "RSA ≥ 0.0", "RSA ≥ 0.15", "RSA ≥ 0.2", "RSA ≥ 0.25"} <= titles
    assert {"RSC < 0.05", "RSC ≥ 0.05", "CoTR ≥ 0.3", "CoTR ≥ 0.30000001"} <= titles


def test_filters_have_sets_of_every_size_before_the_debiased_subset(micro):
    micro["parrot"]["curations"] |= {"filters": ["score", "masked"]}
    audit = parse_settings(micro).parrot

    names = [name for name in curated_sets(audit.curations) if "top" in name]
    assert names == ["top-score-8", "top-masked-8", "top-score-10", "top-masked-10"]
    made = [Curation(**curation_settings(audit, name)) for name in names[:2]]
    assert [(each.kind, each.size, each.bounds()) for each in made] == [
        ("top-score", 8, []),
        ("top-masked", 8, []),
    ]


def test_every_set_is_a_valid_curation(micro):
    audit = parse_settings(micro).parrot

    made = {name: Curation(**curation_settings(audit, name)) for name in curated_manifests(audit)}

    assert made["cotr-0-8"].exactly == 0.0
    assert made["heldout-parrot"].above == -1.0
    assert made["debiased"].size is None
    assert {each.seed for each in made.values()} == {0}


def test_the_debiased_subset_requires_aesthetics_if_samples_state_them(micro):
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


def test_sets_of_one_size_can_have_their_own_recipes(micro):
    micro["parrot"]["curations"] |= {"recipes_of_size": {10: ["brief-1"]}, "grid": None}
    micro["parrot"]["evidence"] = None

    models = trained_models(parse_settings(micro).parrot)

    recipes = {name: recipe for recipe, name in models}
    assert (recipes["random-8"], recipes["random-10"]) == ("brief", "brief-1")
    assert recipes["debiased"] == "brief"
    assert len(recipes) == len(models)


def test_the_debiased_subset_can_have_its_own_recipes(micro):
    micro["parrot"]["curations"] |= {"debiased": {"recipes": ["brief-1"]}, "grid": None}
    micro["parrot"]["evidence"] = None

    run = parse_settings(micro)

    recipes = {name: recipe for recipe, name in trained_models(run.parrot)}
    assert recipes["debiased"] == "brief-1"
    assert {recipe for name, recipe in recipes.items() if name != "debiased"} == {"brief"}
    assert run.parrot.curations.all_recipes == ["brief", "brief-1"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"recipes_of_size": {9: ["brief"]}}, r"recipes_of_size: 9 is not among sizes \(8, 10\)"),
        ({"recipes_of_size": {10: ["breif"]}}, "breif"),
        ({"debiased": {"recipes": ["breif"]}, "grid": None}, r"debiased\.recipes.*breif"),
        (
            {"filters": ["stated"]},
            "filters: stated needs one source of scores, but 0 are named.* filter_field",
        ),
        (
            {"filters": ["stated"], "filter_field": "dfn", "filter_scores": {"files": "s.parquet"}},
            "2 are named",
        ),
        ({"filters": ["text"]}, "filters: text looks for words .* filter_words"),
        ({"recipes_of_size": {10: ["brief-1"]}}, r"grid.*brief/with-text-10"),
    ],
)
def test_impossible_recipes_and_filters_are_refused(micro, asked, message):
    micro["parrot"]["curations"] |= asked

    with pytest.raises(ConfigError, match=message):
        parse_settings(micro)


def test_sets_with_parroting_captions_have_controls_on_request(micro):
    micro["parrot"]["curations"]["controls"] = ["erased", "swapped"]
    run = parse_settings(micro)

    sets = curated_sets(run.parrot.curations)
    assert [name for name in sets if "." in name.removeprefix("cotr-0.2")] == [
        f"{name}.{control}"
        for size in (8, 10)
        for name in (f"cotr-0.2-{size}",)
        for control in ("erased", "swapped")
    ]
    assert sets["cotr-0.2-8.erased"].curation.title == "CoTR ≥ 0.2, text erased"
    assert run.manifests()["cotr-0.2-8.swapped"] == {"posters": "cotr-0.2-8"}


def test_a_model_in_the_grid_has_its_controls(micro):
    micro["parrot"]["curations"]["controls"] = ["swapped"]
    run = parse_settings(micro)

    controls = [model for model in trained_models(run.parrot) if model[1].endswith(".swapped")]
    assert controls == [("brief", "cotr-0.2-8.swapped")]
    assert run.encoders["brief.cotr-0.2-8.swapped"].model == "brief/cotr-0.2-8.swapped"


def test_a_control_can_be_an_arm_of_the_evidence(micro):
    micro["parrot"]["curations"]["controls"] = ["erased"]
    micro["parrot"]["evidence"]["clean"] = "cotr-0.2-10.erased"

    assert ("brief-1", "cotr-0.2-10.erased") in trained_models(parse_settings(micro).parrot)


@pytest.mark.parametrize(
    ("repack", "shards", "sizes", "expected"),
    [
        ("never", 1_000, [8], []),
        ("always", 1, [8, 10], ["random-8", "without-text-8", "with-text-8", "with-text-10"]),
        ("auto", 100, [8], []),
        ("auto", 101, [8], ["random-8", "without-text-8", "with-text-8"]),
        ("auto", 101, [8, 101_000], ["random-8", "without-text-8", "with-text-8"]),
        ("auto", 102, [8, 101_000], ["random-8", "with-text-101000"]),
    ],
)
def test_sets_under_a_tenth_of_a_large_corpus_are_repacked(micro, repack, shards, sizes, expected):
    grid = [f"brief/random-{sizes[0]}", f"brief/with-text-{sizes[-1]}", "brief/debiased"]
    micro["parrot"]["curations"] |= {"repack": repack, "sizes": sizes, "grid": grid}

    found = repacked(parse_settings(micro).parrot, shards=shards)

    assert set(expected) <= found.keys()
    assert ("debiased" in found) == (repack == "always")
    assert f"with-text-{sizes[-1]}" in expected or f"with-text-{sizes[-1]}" not in found
    assert found["heldout"].members == ("heldout-without-text", "heldout-parrot")


def test_controls_are_repacked_whatever_the_size(micro):
    micro["parrot"]["curations"] |= {"controls": ["erased"], "repack": "never"}

    found = repacked(parse_settings(micro).parrot, shards=3)

    assert found.keys() == {"heldout", "cotr-0.2-8.erased"}
    assert (found["cotr-0.2-8.erased"].members, found["cotr-0.2-8.erased"].control) == (
        ("cotr-0.2-8",),
        "erased",
    )


def evidence(**change):
    arms = {"parrot": "with-text-8", "clean": "without-text-8"}
    return {"evidence": {"recipes": ["brief", "brief-1"], **arms, **change}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"corpora": ["posters", "val"]}, "corpora.val.captions is none"),
        ({"encoder": "foreign"}, "parrot.encoder: 'foreign' is not among encoders"),
        ({"encoders": ["foreign"]}, "parrot.encoders: 'foreign' is not among encoders"),
        ({"probed": ["foreign"]}, "parrot.probed: 'foreign' is not among encoders"),
        (evidence(recipes=["brief", "x"]), "parrot.evidence.recipes: 'x' is not among recipes"),
        (evidence(clean="x"), "parrot.evidence.clean: 'x' is not among the sets"),
        ({"test_sets": ["album"]}, "corpora.album.labels: a test set needs labels"),
        ({"retrieval": ["val"]}, "parrot.retrieval: corpora.val.captions is none"),
        ({"retrieval": ["part"]}, "parrot.retrieval: corpora.part.captions is none"),
        ({"corpora": ["notices"]}, "only a profiled corpus can be curated"),
        ({"corpora": ["posters"] * 2}, "parrot.corpora: posters, posters; name each once"),
        ({"retrieval": ["album"] * 2}, "parrot.retrieval: album, album; name each once"),
        (evidence(clean="with-text-8"), "clean: with-text-8 is also `parrot`; name another set"),
        (evidence(recipes=["brief"] * 2), "recipes: brief, brief; name each once"),
        (evidence(recipes=["brief", "longer"]), "longer differs from brief in epochs; the"),
        (evidence(recipes=["brief", "same"]), "their seeds are 0, 0; give each recipe another"),
        ({"clusters": {"clusters": 2, "groups": 3}}, "groups: 3 of 2 clusters"),
    ],
)
def test_settings_that_do_not_fit_are_refused(micro, change, message):
    micro["corpora"]["part"] = {"of": "val", "where": "row < 8"}
    brief = micro["recipes"]["brief"]
    micro["recipes"] |= {"longer": {**brief, "epochs": 3, "seed": 9}, "same": brief}
    micro["parrot"] |= change

    with pytest.raises(ConfigError, match=message):
        parse_settings(micro)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grid": ["brief/random-9"]}, "'brief/random-9' is not among the models"),
        ({"recipes": ["long"]}, "parrot.curations.recipes: 'long' is not among recipes"),
        ({"recipes_of_size": {10: ["x"]}}, "parrot.curations.recipes_of_size.10: 'x' is not among"),
        ({"published_models": {"x": "RN50"}}, r"published_models: x is not among recipes \(brief"),
        ({"debiased": None}, "deduplication: it belongs to the debiased subset"),
        ({"sizes": [9]}, "is not among the models"),
        ({"sizes": [8, 8]}, "parrot.curations.sizes: 8, 8; name each once"),
    ],
)
def test_curations_that_do_not_fit_are_refused(micro, change, message):
    micro["parrot"]["curations"] |= change

    with pytest.raises(ConfigError, match=message):
        parse_settings(micro)


def test_duplicates_are_sought_in_the_audits_own_clusters(micro):
    micro["parrot"]["deduplication"] = {"clusters_per_group": 3}
    given, from_data = (
        parse_settings(micro | {"parrot": micro["parrot"] | {"clusters": {"clusters": number}}})
        for number in (8, None)
    )

    assert given.parrot.duplicate_groups(parts=2) == ["00000", "00001", "00002"]
    assert from_data.parrot.duplicate_groups(parts=2) == ["00000", "00001"]
    assert not given.deduplications()


def test_given_spans_are_named_by_corpus_and_cover_every_corpus(micro):
    files = {"files": "spans-{0..3}.jsonl"}
    micro["parrot"]["spotting"] = {"spotter": "given", "given": {"posters": files}}
    with pytest.raises(ConfigError, match="no files for notices; give files of one spotter"):
        parse_settings(micro)

    micro["parrot"]["spotting"]["given"]["notices"] = files
    spotting = parse_settings(micro).parrot.spotting
    assert spotting.plugin is None
    assert spotting.given["posters"].paths[-1] == "spans-3.jsonl"


@pytest.mark.parametrize(
    ("spotting", "message"),
    [
        ({"spotter": "given"}, "`spotter: given` and the files by corpus"),
        ({"given": {"posters": {"files": "a.parquet"}}}, "`spotter: given` and the files by"),
        (
            {"spotter": "given", "given": {"posters": {"files": "a.csv"}}},
            r"a\.csv: give files that",
        ),
        ({"spotter": "given", "given": {"val": {"files": "a.json"}}}, "'val' is not among"),
    ],
)
def test_given_spans_that_do_not_fit_are_refused(micro, spotting, message):
    micro["parrot"]["spotting"] = spotting

    with pytest.raises(ConfigError, match=message):
        parse_settings(micro)


def test_missing_files_of_given_spans_are_named(micro, tmp_path):
    files = {"files": "spans-{0..1}.jsonl"}
    micro["parrot"]["spotting"] = {
        "spotter": "given",
        "given": {"posters": files, "notices": {"files": "n.json"}},
    }
    micro["parrot"]["probe"]["vocabulary"] = "words.txt"
    (tmp_path / "spans-0.jsonl").touch()

    with pytest.raises(ConfigError) as refused:
        check_files(parse_settings(micro), root=tmp_path)
    for line in (
        "parrot.spotting.given.posters.files[1]: spans-1.jsonl",
        "parrot.spotting.given.notices.files[0]: n.json",
        "parrot.probe.vocabulary: words.txt",
    ):
        assert line in str(refused.value)
    assert "spans-0" not in str(refused.value)


def test_sets_of_another_corpus_are_those_of_settings_that_extend_these(micro, tmp_path):
    changed = {"results": "results_notices", "parrot": {"curations": {"corpus": "notices"}}}
    (tmp_path / "notices.yaml").write_text(
        yaml.safe_dump({"extends": str(ROOT / "config/micro_parrot.yaml"), **changed})
    )

    run = parse_settings(read_settings(tmp_path / "notices.yaml"))

    first = parse_settings(micro)
    assert run.store == first.store
    assert curated_sets(run.parrot.curations) == curated_sets(first.parrot.curations)
    manifests = curated_manifests(run.parrot)
    assert {corpus for made_of in manifests.values() for corpus in made_of} == {"notices"}


def test_another_corpus_is_curated_by_settings_that_extend_the_first(micro):
    asked = {"results": "second", "parrot": {"curations": {"corpus": "notices"}}}

    second = parse_settings(extended({"extends": str(ROOT / "config/micro_parrot.yaml"), **asked}))

    first = parse_settings(micro)
    sets, others = (curated_manifests(each.parrot) for each in (first, second))
    assert [*sets] == [*others]
    assert {corpus for each in others.values() for corpus in each} == {"notices"}
    assert second.store == first.store
