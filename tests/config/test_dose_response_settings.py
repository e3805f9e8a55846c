"""The dose response of the similarity audit: its prunings, its models, and refused settings."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.errors import ConfigError
from clipaudit.similarity.prunings import dose_manifests, prunings
from clipaudit.similarity.reports.accuracies import in_grid
from clipaudit.similarity.reports.figures import similarity_figures
from clipaudit.similarity.settings import Similarity

ROOT = Path(__file__).parents[2]
DOSE = {"test_set": "sketch", "margins": [-0.02, 0.005]}
BOTH = "laion-deduplicated-and-imagenet-train"


@pytest.fixture
def run():
    """Return a function: the settings at the paper's scale with a dose response and changes."""

    def build(dose=DOSE, **changes):
        settings = read_settings(ROOT / "config/laion400m.yaml")
        settings["similarity"] |= {"dose_response": dose, "grid": [], **changes}
        return parse_settings(settings)

    return build


def test_each_margin_has_a_pruning_and_a_random_one_of_the_same_size(run):
    made = prunings(run().section(Similarity), "laion")

    margins = {name: margin for name, (_, margin) in made.shifted.items()}
    assert margins == {
        "deduplicated.sketch-minus-0-02-pruned": pytest.approx(-0.02, abs=1e-12),
        "deduplicated.sketch-plus-0-005-pruned": pytest.approx(0.005, abs=1e-12),
    }
    likes = {cut.like for name, cut in made.cuts.items() if "random-as" in name}
    assert likes == {*margins, "deduplicated.sketch-pruned"}


def test_margins_are_exact_in_binary_so_that_addition_does_not_round(run):
    dose = run().section(Similarity).dose_response

    assert all((margin * 2**40).is_integer() for margin in dose.margins)


def test_the_figure_has_both_arms_on_every_test_set_with_the_pruned_one_first(run):
    figure = similarity_figures(run())["similarity_dose_response"]

    points = figure.table.relations["points"]
    assert [row["testset"] for row in points if row["panel_position"] == 0] == ["sketch"] * 8
    assert len({row["panel_title"] for row in points}) == 6
    arm = [
        row["manifest"] for row in points if (row["panel_position"], row["pruning"]) == (0, "rand")
    ]
    whats = ("random-as-sketch-plus-0-005", "random-as-sketch", "random-as-sketch-minus-0-02")
    assert arm == [BOTH, *(f"{BOTH}.{what}" for what in whats)]
    assert "margins of +0.005, 0 and -0.02 added" in figure.caption


def test_models_of_the_dose_response_are_trained_whatever_the_grid(run):
    asked = run()
    audit = asked.section(Similarity)

    shown = [name for name in asked.manifests() if in_grid(asked, audit, "paper", name)]
    assert set(dose_manifests(audit).values()) < set(shown)
    assert len(shown) == 7  # three margins with their random sets, and the unpruned one


def test_settings_without_a_dose_response_have_none_of_its_results(run):
    asked = run(None)

    assert "similarity_dose_response" not in similarity_figures(asked)
    assert not any("-0-02-" in name for name in asked.manifests())


@pytest.mark.parametrize(
    ("dose", "changes", "message"),
    [
        (DOSE | {"test_set": "mnist"}, {}, r"dose_response: 'mnist' is not among"),
        (DOSE | {"margins": [0.0]}, {}, "0 is the gap itself, which is always included; remove it"),
        (DOSE | {"margins": [0.01, 0.01]}, {}, "two are equal to six digits; remove one"),
        (DOSE | {"margins": [0.3]}, {}, r"less than or equal to 0\.25"),
        (DOSE | {"margins": []}, {}, "at least 1"),
        (DOSE, {"recipe": None}, "dose_response: needs `recipe`: nothing is trained without one"),
    ],
)
def test_an_impossible_dose_response_is_refused(run, dose, changes, message):
    with pytest.raises(ConfigError, match=message):
        run(dose, **changes)
