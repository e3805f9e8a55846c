"""The sets, points and models that the memorization audit's settings define."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.pictures import left_out
from clipaudit.errors import ConfigError
from clipaudit.memorization.points import (
    in_grid,
    points,
    records_corpus,
    seed_points,
    set_sizes,
)
from clipaudit.memorization.reports.figures import memorization_figures
from clipaudit.memorization.reports.galleries import memorization_galleries
from clipaudit.memorization.reports.tables import memorization_tables

ROOT = Path(__file__).parents[2]


def read(name):
    return read_settings(ROOT / f"config/{name}.yaml")


def point_names(run, *, asked=False):
    audit = run.memorization
    every = points(audit, run.recipes[audit.recipe])
    return [point.name for point in (in_grid(audit, every) if asked else every)]


FAMILIES = ("temperature (maximum of the logit scale)", "fixed logit scale")


@pytest.fixture
def dejavu():
    """Return the paper's settings, with ten shards of its large corpus: parsing checks each."""
    settings = read("dejavu")
    for name in ("filtered-laion-with-faces", "filtered-laion"):
        shards = settings["corpora"][name]["shards"]
        settings["corpora"][name]["shards"] = shards.replace("..21999}", "..00009}")
        assert settings["corpora"][name]["shards"] != shards
    return settings


def test_the_papers_sources_are_all_blurred(dejavu):
    run = parse_settings(dejavu)

    for name in run.memorization.sources:
        assert run.corpora[name].blurred.of == f"{name}-with-faces"


def test_every_value_except_the_recipes_own_is_a_point(dejavu):
    assert point_names(parse_settings(dejavu)) == [
        "default",
        "size-1000000",
        "size-50000000",
        "epochs-20",
        "epochs-40",
        "epochs-100",
        "temperature-25",
        "temperature-200",
        "weight-decay-0.03",
        "weight-decay-0.3",
        "token-masking-0.3",
        "token-masking-0.5",
    ]


def test_a_grid_thins_the_points_but_never_the_default(dejavu):
    dejavu["memorization"]["grid"] = ["weight-decay-0.3"]

    assert point_names(parse_settings(dejavu), asked=True) == ["default", "weight-decay-0.3"]


def test_a_point_differs_from_the_recipe_only_in_its_own_setting(dejavu):
    recipes = parse_settings(dejavu).recipes

    own, varied = (recipes[name].model_dump() for name in ("dejavu", "dejavu.temperature-25"))
    changed = {key: value for key, value in varied.items() if value != own[key]}
    assert changed == {"max_logit_scale": 25}


def test_a_fixed_logit_scale_is_a_point_on_request(dejavu):
    dejavu["memorization"]["mitigations"]["logit_scale"] = [100]
    recipe = parse_settings(dejavu).recipes["dejavu.logit-scale-100"]

    assert (recipe.logit_scale, recipe.max_logit_scale) == (100, 100)


def test_a_recipe_that_fixes_the_logit_scale_has_no_temperatures(dejavu):
    dejavu["recipes"]["dejavu"]["logit_scale"] = 100

    assert not [name for name in point_names(parse_settings(dejavu)) if "temperature" in name]


@pytest.mark.parametrize(
    ("scale", "mitigations", "titles"),
    [
        ("learned", {}, ["temperature (maximum of the logit scale)"]),
        (50, {"logit_scale": [25]}, ["fixed logit scale"]),
        ("learned", {"logit_scale": [25], "temperature": [25]}, [*FAMILIES[:2]]),
    ],
)
def test_figures_have_a_panel_for_each_interpretation_of_the_temperature(
    dejavu, scale, mitigations, titles
):
    dejavu["recipes"]["dejavu"]["logit_scale"] = scale
    dejavu["memorization"]["mitigations"] = mitigations
    figures = memorization_figures(parse_settings(dejavu))

    for name in ("memorization_fig5_imagenet-train", "memorization_fig7"):
        groups = figures[name].table.relations["groups"]
        found = dict.fromkeys(group["panel_title"] for group in groups)
        assert [title for title in FAMILIES[:2] if title in found] == titles


def test_masking_comes_with_random_captions_if_there_are_several(dejavu):
    recipes = parse_settings(dejavu).recipes

    assert recipes["dejavu"].caption_choice == "first"
    assert recipes["dejavu.token-masking-0.3"].caption_choice == "random"


def test_an_early_checkpoint_is_an_encoder_of_the_same_training_run(dejavu):
    encoders = parse_settings(dejavu).encoders

    early, late = encoders["dejavu.set-a.epoch-20"], encoders["dejavu.set-a"]
    assert (early.model, early.epoch) == ("dejavu/set-a", 20)
    assert (late.model, late.epoch) == ("dejavu/set-a", None)


def test_only_the_source_with_sizes_varies_in_size(dejavu):
    manifests = parse_settings(dejavu).manifests()

    assert manifests["set-b-1000000"] == {"filtered-laion": "set-b-1000000", "coco": "set-b"}


def test_the_largest_size_is_drawn_and_smaller_ones_are_its_first_samples(dejavu):
    audit = parse_settings(dejavu).memorization

    assert audit.sources["filtered-laion"].drawn()["a"] == 50_000_000
    sizes = set_sizes(audit, "filtered-laion")
    assert sizes["set-a"] == ("a", 10_000_000, 0)
    assert sizes["set-a-50000000"] == ("a", 50_000_000, 0)


def test_a_public_corpus_has_no_records(dejavu):
    corpora = parse_settings(dejavu).corpora

    derived = [name for name in corpora if name.startswith("imagenet-train.")]
    assert derived == ["imagenet-train.drawn", "imagenet-train.public"]


def test_the_shutterstock_settings_match_the_paper():
    run = parse_settings(read("shutterstock"))
    audit = run.memorization

    assert audit.objects.threshold == 0.3
    assert run.recipes[audit.recipe].weight_decay == 0.2
    assert audit.sources["shutterstock"].duplicates == "caption"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sources": {"coco": {"train": 10, "public": 0.5}}}, "all sizes as counts, or all as"),
        ({"sources": {"coco": {"train": 0.5, "public": 0.5}}}, "add up to 1.5; at most 1"),
        ({"sources": {"coco": {}}}, "at least one of train, public, holdout"),
        ({"sources": {"coco": {"public": 5, "sizes": [1]}}}, "sizes belong to `train`"),
        ({"sources": {"coco": {"public": 5}}}, "one needs `train` and one `public`"),
        ({"sources": {"nowhere": {"train": 5, "public": 5}}}, "'nowhere' is not among corpora"),
        ({"neighbors": [100, 10]}, r"\[100, 10\] must rise"),
        ({"neighbors": [600_000]}, "neighbors.*less than or equal to 524288"),
        ({"encoder": None}, "`duplicates: semantic` needs the section `deduplication`"),
        ({"grid": ["epochs-30"]}, "'epochs-30' is not among the points"),
        ({"mitigations": {"epochs": [201]}}, "201, but recipes.dejavu trains 200 epochs"),
        ({"utility": ["coco"]}, "corpora.coco.labels: a test set needs labels"),
        ({"selections": {"order": {"corpus": "x"}}}, "'x' is not among corpora"),
        ({"recipe": "none"}, "'none' is not among recipes"),
        ({"grid": ["epochs-20"] * 2}, "grid: epochs-20, epochs-20; name each once"),
    ],
)
def test_impossible_settings_are_refused(dejavu, change, message):
    dejavu["memorization"] |= change

    with pytest.raises(ConfigError, match=message):
        parse_settings(dejavu)


def test_the_former_name_of_the_shorter_side_is_refused_with_the_new_one(dejavu):
    dejavu["memorization"]["objects"]["longest_side"] = 256

    with pytest.raises(ConfigError, match=r"longest_side is not a setting.*shorter_side"):
        parse_settings(dejavu)


def test_given_objects_are_named_by_source_and_cover_every_source(dejavu):
    files = {"files": "data/detic-{0..3}.parquet"}
    objects = {"annotator": "given", "given": {"coco": files}}
    dejavu["memorization"]["objects"] = objects
    with pytest.raises(ConfigError, match="no files for imagenet-train, filtered-laion"):
        parse_settings(dejavu)

    objects["given"] = {name: files for name in dejavu["memorization"]["sources"]}
    assert parse_settings(dejavu).memorization.objects.plugin is None


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ({"annotator": "given"}, "`annotator: given` and the files by source"),
        ({"given": {"coco": {"files": "a.parquet"}}}, "`annotator: given` and the files by source"),
        ({"annotator": "given", "given": {"coco": {"files": "a.pkl"}}}, r"a\.pkl: give files that"),
        ({"annotator": "given", "given": {"none": {"files": "a.json"}}}, "'none' is not among"),
    ],
)
def test_given_objects_that_do_not_fit_are_refused(dejavu, objects, message):
    dejavu["memorization"]["objects"] = objects

    with pytest.raises(ConfigError, match=message):
        parse_settings(dejavu)


def test_fractions_that_make_1_as_they_are_written_are_accepted(dejavu):
    sizes = {"train": 0.28, "public": 0.33, "holdout": 0.11}  # as floats they exceed 1
    dejavu["memorization"] |= {"sources": {"coco": sizes}, "grid": None}

    assert parse_settings(dejavu).memorization.drawn("coco")["holdout"] == 0.11


def test_a_repeated_size_is_refused(dejavu):
    dejavu["memorization"]["sources"]["filtered-laion"]["sizes"] = [5, 7, 5]

    with pytest.raises(ConfigError, match=r"filtered-laion.*sizes: 5, 7, 5; name each once"):
        parse_settings(dejavu)


@pytest.mark.parametrize("setting", ["epochs", "weight_decay", "captions"])
def test_a_repeated_value_of_a_mitigation_is_refused(dejavu, setting):
    dejavu["memorization"]["mitigations"][setting] = [3, 2, 3.0]

    with pytest.raises(ConfigError, match=rf"mitigations.*{setting}: 3, 2, 3; name each once"):
        parse_settings(dejavu)


def test_two_values_that_would_share_a_name_are_refused(dejavu):
    dejavu["memorization"]["mitigations"]["weight_decay"] = [0.1234567, 0.1234568]

    with pytest.raises(ConfigError, match=r"weight_decay: 0\.123457, 0\.123457; name each once"):
        parse_settings(dejavu)


def test_two_sources_with_sizes_are_refused(dejavu):
    dejavu["memorization"]["sources"]["coco"]["sizes"] = [10]

    with pytest.raises(ConfigError, match="filtered-laion, coco have `sizes`; give them to one"):
        parse_settings(dejavu)


def test_a_split_cannot_be_a_source(dejavu):
    dejavu["corpora"]["some"] = {"of": "coco", "where": "true"}
    dejavu["memorization"]["sources"]["some"] = {"train": 5}

    with pytest.raises(
        ConfigError, match="a split, but sets are drawn from whole corpora only; name"
    ):
        parse_settings(dejavu)


def test_a_checkpoint_after_the_end_is_refused(dejavu):
    dejavu["encoders"] = {"late": {"model": "dejavu/set-a", "epoch": 201}} | dejavu["encoders"]

    with pytest.raises(ConfigError, match=r"201, but recipes\.dejavu trains 200 epochs"):
        parse_settings(dejavu)


def test_both_audits_must_deduplicate_a_corpus_the_same_way():
    settings = read("laion400m")
    settings["memorization"] = {
        "sources": {"laion": {"train": 5, "public": 5, "duplicates": "semantic"}},
        "deduplication": {"threshold": 0.5},
        "encoder": "l14",
        "recipe": "paper",
    }

    with pytest.raises(
        ConfigError, match="laion: the audits memorization and similarity both deduplicate it"
    ):
        parse_settings(settings)


def test_every_point_of_the_grid_is_trained_with_every_random_seed(dejavu):
    dejavu["memorization"] |= {"seeds": 2, "grid": ["epochs-20", "token-masking-0.3"]}
    run = parse_settings(dejavu)

    by_seed = seed_points(run.memorization, run.recipes)
    names = [[point.name for point in asked] for asked in by_seed]
    assert names[0] == ["default", "epochs-20", "token-masking-0.3"]
    assert names[1] == ["default.seed-1", "epochs-20.seed-1", "token-masking-0.3.seed-1"]
    assert run.recipes["dejavu.seed-1.token-masking-0.3"].seed == 1
    model = run.encoders["dejavu.seed-1.set-b-cut-1.epoch-20"].model
    assert model == "dejavu.seed-1/set-b-cut-1"


def test_every_random_seed_has_its_own_cut(dejavu):
    dejavu["memorization"] |= {"seeds": 3, "grid": []}
    run = parse_settings(dejavu)

    manifests = run.manifests()
    assert manifests["set-a-cut-2"]["filtered-laion"] == "set-a-cut-2"
    assert manifests["set-a-1000000-cut-2"]["coco"] == "set-a-cut-2"
    assert "set-a-cut-3" not in manifests
    sets = set_sizes(run.memorization, "filtered-laion")
    assert sets["set-holdout-1000000-cut-2"] == ("holdout", 1_000_000, 2)
    assert "set-public-cut-2" not in sets


def test_records_have_a_corpus_for_each_size_and_the_largest_has_the_plain_name(dejavu):
    run = parse_settings(dejavu)

    names = {
        size: records_corpus(run.memorization, "filtered-laion", size)
        for size in (None, 1_000_000, 50_000_000)
    }

    assert names == {
        None: "filtered-laion.records-10000000",
        1_000_000: "filtered-laion.records-1000000",
        50_000_000: "filtered-laion.records",
    }
    derived = {name for name in run.corpora if ".records" in name}
    assert derived == {*names.values(), "coco.records"}
    assert records_corpus(run.memorization, "coco", 1_000_000) == "coco.records"


def test_mitigations_beyond_the_paper_are_points_on_request(dejavu):
    plain = point_names(parse_settings(dejavu))
    dejavu["memorization"]["mitigations"] |= {"captions": [1, 5], "text_noise": [0.0, 0.1]}
    run = parse_settings(dejavu)

    # the recipe's own values are the first caption and no noise
    assert point_names(run) == [*plain, "captions-5", "text-noise-0.1"]
    several = run.recipes["dejavu.captions-5"]
    assert (several.captions, several.caption_choice) == (5, "random")
    assert run.recipes["dejavu.text-noise-0.1"].text_noise == 0.1


def test_a_recipe_without_new_mitigations_keeps_its_digest(dejavu):
    recipe = parse_settings(dejavu).recipes["dejavu"].model_dump(mode="json")

    assert not {"captions", "text_noise"} & recipe.keys()


@pytest.fixture
def targets():
    """Return settings that name checkpoints and pairs, but no recipe."""
    b32 = {"architecture": "b32", "precision": "amp_bf16"}
    return {
        "architectures": {"b32": {"open_clip": "ViT-B-32"}},
        "encoders": {
            "mine": {**b32, "pretrained": "laion400m_e32"},
            "other": {**b32, "pretrained": "openai"},
        },
        "corpora": {"pairs": {"shards": "data/pairs/{00000..00003}.tar"}},
        "memorization": {
            "sources": {"pairs": {"train": 10_000, "holdout": 10_000}},
            "targets": ["mine"],
            "reference": "other",
        },
    }


def test_only_pairs_are_tested_and_nothing_is_trained_without_a_recipe(targets):
    run = parse_settings(targets)

    assert run.recipes == {}
    assert set(run.encoders) == {"mine", "other"}
    assert set(memorization_tables(run)) == {
        *("memorization_overlaps", "memorization_pairs", "memorization_sets"),
    }
    assert (memorization_figures(run), memorization_galleries(run)) == ({}, {})


def test_a_public_set_adds_the_one_model_test(targets):
    targets["memorization"]["sources"]["pairs"]["public"] = 5_000
    run = parse_settings(targets)

    assert "memorization_one_model" in memorization_tables(run)
    assert [sentence.partition(" (")[0] for sentence in left_out(run)] == ["No recipe is named"]


def test_no_set_b_is_drawn_without_a_recipe(targets):
    targets["memorization"]["sources"]["pairs"] = {"train": 0.5, "holdout": 0.5}
    audit = parse_settings(targets).memorization

    assert audit.drawn("pairs") == {"a": 0.5, "holdout": 0.5}
    assert set(set_sizes(audit, "pairs")) == {"set-a", "set-holdout"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": ["mine"] * 2}, "memorization.targets: mine, mine; name each once"),
        ({"reference": "mine"}, "a target cannot be its own reference"),
        ({"targets": []}, "targets: none, and there is no `recipe`"),
        ({"reference": None}, "reference: needed without `recipe`; name an encoder"),
        ({"sources": {"pairs": {"holdout": 5}}}, "one needs `train`: records that the targets"),
        ({"sources": {"pairs": {"train": 5}}}, "one of the sources needs `holdout`"),
        ({"sources": {"pairs": {"train": 5, "sizes": [1], "holdout": 5}}}, "need `recipe`, whose"),
        ({"seeds": 2}, "seeds: needs `recipe`: nothing is trained"),
        ({"mitigations": {"epochs": [3]}}, "mitigations: needs `recipe`"),
    ],
)
def test_targets_that_cannot_be_tested_are_refused(targets, change, message):
    targets["memorization"] |= change

    with pytest.raises(ConfigError, match=message):
        parse_settings(targets)


@pytest.mark.parametrize(("public", "is_refused"), [(5, True), (6, False)])
def test_looking_up_every_public_image_is_refused(public, is_refused):
    settings = read("micro_memorization")
    settings["memorization"]["sources"]["scenes"] = {"train": 20, "public": public}
    settings["memorization"]["neighbors"] = [2, 5]

    if is_refused:
        message = r"neighbors: 5, but sources.scenes has a public set of 5\."
        with pytest.raises(ConfigError, match=message):
            parse_settings(settings)
    else:
        assert parse_settings(settings).memorization.neighbors == [2, 5]
