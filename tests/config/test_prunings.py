from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.similarity.prunings import prunings
from clipaudit.similarity.settings import Similarity

ROOT = Path(__file__).parents[2]


@pytest.fixture
def settings():
    return read_settings(ROOT / "config/laion400m.yaml")


def test_a_gap_pruned_manifest_includes_the_whole_small_set(settings):
    manifests = parse_settings(settings).manifests()

    added = {"laion": "deduplicated.sketch-pruned", "imagenet-train": "all"}
    assert manifests["laion-deduplicated-and-imagenet-train.sketch-pruned"] == added
    assert manifests["laion-deduplicated.combined-pruned"] == {
        "laion": "deduplicated.combined-pruned"
    }


def test_prunings_start_from_the_whole_set_without_deduplication(settings):
    settings["similarity"] |= {"deduplication": None, "core_set": None}

    manifests = parse_settings(settings).manifests()

    name = "sketch-near-kept-50000000"
    assert manifests[f"laion.{name}"] == {"laion": f"all.{name}"}
    assert not any("deduplicated" in name for name in manifests)


def test_every_manifest_is_made_by_exactly_one_kind_of_rule(settings):
    run = parse_settings(settings)

    for corpora in run.manifests().values():
        for corpus, pruning in corpora.items():
            made = prunings(run.section(Similarity), corpus)
            ways = [pruning in ("all", "deduplicated"), pruning in made.gaps, pruning in made.cuts]
            assert sum(ways) == 1, pruning


def test_the_core_set_considers_all_test_sets_together(settings):
    run = parse_settings(settings)

    cut = prunings(run.section(Similarity), "laion").cuts["deduplicated.all-far-core"]

    assert cut.test_sets == ("val", "sketch", "a", "r", "v2", "objectnet")
    assert (cut.kept, cut.like) == (100_000_000, "deduplicated")


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, {"50000000": (50_000_000, None), "150000000": (150_000_000, None)}),
        ({"kept": [0.5]}, {"kept-50pct": (None, 0.5)}),
        ({"removed": [7], "kept": [8]}, {"7": (7, None), "kept-8": (None, 8)}),
    ],
)
def test_near_and_far_pruning_have_sizes_that_are_removed_or_kept(settings, sizes, expected):
    settings["similarity"]["near_far"] = {"queries": ["sketch"], **sizes}

    cuts = prunings(parse_settings(settings).section(Similarity), "laion").cuts

    for order in ("sketch-near", "sketch-far", "rand"):
        found = {label: cuts[f"deduplicated.{order}-{label}"] for label in expected}
        assert {label: (cut.removed, cut.kept) for label, cut in found.items()} == expected


def test_near_and_far_pruning_without_a_size_is_refused(settings):
    settings["similarity"]["near_far"] = {"queries": ["sketch"], "kept": []}

    with pytest.raises(ConfigError, match="no sizes; give `removed` or `kept`, or leave both out"):
        parse_settings(settings)


def test_a_grid_names_manifests_of_the_run(settings):
    settings["similarity"]["grid"] = ["laion.sketch-near-1"]

    with pytest.raises(ConfigError, match=r"similarity\.grid: 'laion\.sketch-near-1' is not among"):
        parse_settings(settings)


def test_evidence_and_curves_share_one_random_order(settings):
    settings["similarity"]["seeds"] = 2
    settings["similarity"]["evidence"] = {
        "pruning": "sketch",
        "reference": "val",
        "seed": 7,
        "removed": 50_000_000,
    }

    with pytest.raises(ConfigError, match=r"evidence\.seed is 7, near_far\.seed is 0"):
        parse_settings(settings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"of": "celeba"}, "give one of `shards`, `of` (for a split)"),
        ({"shards": None, "of": "laion"}, "a split needs `of` and either `where` or `sets`"),
        ({"label": "1"}, "`label` belongs to a split"),
        ({"shards": None, "of": "x", "where": "true"}, "corpora.val.of: 'x' is not among corpora"),
    ],
)
def test_a_corpus_is_shards_or_a_split(settings, change, message):
    settings["corpora"]["val"] |= change

    with pytest.raises(ConfigError) as refused:
        parse_settings(settings)
    assert message in str(refused.value)


def test_a_split_has_the_parts_of_its_corpus():
    run = parse_settings(read_settings(ROOT / "config/celeba.yaml"))

    assert run.shards("eyeglasses") == run.shards("celeba")
    assert run.parts("eyeglasses") == run.parts("celeba")
    assert "eyeglasses" not in run.manifests()


def test_settings_extend_another_file_section_by_section(tmp_path):
    path = tmp_path / "mine.yaml"
    base = ROOT / "config/micro.yaml"
    path.write_text(f"extends: {base}\nresults: elsewhere\nsimilarity: {{near_gap: 0.5}}\n")

    run = parse_settings(read_settings(path))

    assert (run.results, run.similarity.near_gap) == ("elsewhere", 0.5)
    assert run.similarity.large == "large"


def test_settings_that_extend_themselves_are_refused(tmp_path):
    path = tmp_path / "loop.yaml"
    path.write_text(f"extends: {path}\n")

    with pytest.raises(ConfigError, match=r"loop\.yaml: extends itself"):
        read_settings(path)


def test_prunings_can_start_from_a_manifest_of_another_audit(settings):
    settings["copies"] = {"train": "laion", "test_sets": ["val"]}
    settings["similarity"]["base"] = "without-copies"

    manifests = parse_settings(settings).manifests()

    assert manifests["laion-without-copies"] == {"laion": "without-copies"}
    assert manifests["laion-without-copies.sketch-pruned"] == {
        "laion": "without-copies.sketch-pruned"
    }
    assert not any(name.startswith("laion-deduplicated") for name in manifests)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"base": "without-copies"},
            r"'without-copies' is not among the prunings of laion \(all, ",
        ),
        (
            {"base": "deduplicated", "deduplication": None, "core_set": None},
            "base: deduplicated, which needs the section `deduplication`",
        ),
    ],
)
def test_a_base_that_nothing_makes_is_refused(settings, change, message):
    settings["similarity"] |= change

    with pytest.raises(ConfigError, match=message):
        parse_settings(settings)


@pytest.mark.parametrize(
    ("section", "key", "value", "message"),
    [
        ("near_far", "removed", [0.1234567, 0.12345671], "two are one name"),
        ("supervised", "removed", [0.1234567, 0.12345671], "two are one name"),
        ("robustness", "points", [{"sketch": 0.5}], "needs an accuracy on val, the reference"),
    ],
)
def test_what_would_be_lost_silently_is_refused(settings, section, key, value, message):
    settings["similarity"][section][key] = value

    with pytest.raises(ConfigError, match=message):
        parse_settings(settings)
