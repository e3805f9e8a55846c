"""The similarity audit's training runs under several seeds, and its random arm."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.similarity.prunings import prunings

ROOT = Path(__file__).parents[2]


@pytest.fixture
def parsed():
    """Return a function: the settings at the paper's scale, with changes to the audit."""

    def build(**changes):
        settings = read_settings(ROOT / "config/laion400m.yaml")
        settings["similarity"] |= changes
        return parse_settings(settings)

    return build


def test_zero_seeds_are_refused(parsed):
    with pytest.raises(ConfigError, match=r"similarity\.seeds: .*greater than or equal to 1") as it:
        parsed(seeds=0)

    assert str(it.value).count("\n") <= 1


@pytest.mark.parametrize("name", ["seeds", "random_arm"])
def test_nothing_can_be_trained_again_without_a_recipe(parsed, name):
    with pytest.raises(ConfigError, match=f"{name}: needs `recipe`"):
        parsed(**{name: 2 if name == "seeds" else True}, recipe=None)


def test_evidence_of_one_seed_is_refused(parsed):
    with pytest.raises(ConfigError, match="evidence: needs `seeds` of 2 or more"):
        parsed(evidence={"pruning": "sketch", "reference": "val"})


def test_recipes_are_derived_for_the_next_seeds(parsed):
    run = parsed(seeds=3)

    own = run.recipes["paper"]
    found = {name: recipe.seed for name, recipe in run.recipes.items() if "." in name}
    assert found == {f"paper.seed-{own.seed + n}": own.seed + n for n in (1, 2)}
    assert run.recipes["paper.seed-2"] == own.model_copy(update={"seed": 2})


def test_one_seed_derives_and_draws_nothing(parsed):
    run = parsed()

    assert not any("seed" in name for name in run.recipes)
    assert not any("random-as" in name for name in run.manifests())


@pytest.mark.parametrize("changes", [{"seeds": 2}, {"random_arm": True}])
def test_each_gap_pruned_set_has_a_random_one_of_the_same_size(parsed, changes):
    run = parsed(**changes)

    found = prunings(run.similarity, "laion")
    arms = {name: cut.like for name, cut in found.cuts.items() if "random-as" in name}
    assert set(arms.values()) == set(found.gaps)
    assert arms["deduplicated.random-as-combined"] == "deduplicated.combined-pruned"
    both = "laion-deduplicated-and-imagenet-train.random-as-sketch"
    assert run.manifests()[both]["laion"] == "deduplicated.random-as-sketch"


def test_random_sets_of_each_seed_differ_in_the_random_seed(parsed):
    run = parsed(seeds=3, evidence={"pruning": "sketch", "reference": "val", "removed": 0.5})

    cuts = prunings(run.similarity, "laion").cuts
    names = [f"random-{which}as-sketch" for which in ("", "draw-2-", "draw-3-")]
    assert [cuts[f"deduplicated.{name}"].seed for name in names] == [0, 1, 2]
    names = [f"rand-{which}50pct" for which in ("", "draw-2-", "draw-3-")]
    assert [cuts[f"deduplicated.{name}"].seed for name in names] == [0, 1, 2]


def test_several_seeds_work_without_a_random_arm(parsed):
    run = parsed(seeds=2, random_arm=False)

    assert not any("random-as" in name for name in run.manifests())
