"""The similarity audit of settings that name only an encoder, a corpus and test sets."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.pictures import left_out
from clipaudit.errors import ConfigError
from clipaudit.similarity.reports.figures import similarity_figures
from clipaudit.similarity.reports.galleries import similarity_galleries
from clipaudit.similarity.reports.tables import similarity_tables

ROOT = Path(__file__).parents[2]
TOLD = {"similarity_encoders", "similarity_table2"}


@pytest.fixture
def settings():
    whole = read_settings(ROOT / "config/laion400m.yaml")
    kept = {name: whole[name] for name in ("architectures", "encoders", "corpora", "label_sets")}
    asked = {name: whole["similarity"][name] for name in ("encoder", "large", "test_sets")}
    return kept | {"similarity": asked | {"galleries": {}}}


def test_results_without_recipe_and_small_set_are_reported_and_others_left_out(settings):
    run = parse_settings(settings)

    assert set(similarity_tables(run)) == TOLD
    assert set(similarity_figures(run)) == {"similarity_fig4", "similarity_fig6"}
    assert not any("fig21" in name for name in similarity_galleries(run))
    assert [sentence.partition(" (")[0] for sentence in left_out(run)] == [
        "No recipe is named",
        "No small set is named",
    ]


def test_a_small_set_adds_the_gaps_without_any_training(settings):
    settings["similarity"]["small"] = "imagenet-train"
    run = parse_settings(settings)

    gaps = {"similarity_gap_check", "similarity_table6", "similarity_table7"}
    assert set(similarity_tables(run)) == TOLD | gaps
    assert any(name.endswith("sketch-pruned") for name in run.manifests())


def test_a_recipe_alone_trains_on_the_unchanged_corpus(settings):
    whole = read_settings(ROOT / "config/laion400m.yaml")
    settings["recipes"] = whole["recipes"]
    settings["similarity"]["recipe"] = whole["similarity"]["recipe"]

    tables = similarity_tables(parse_settings(settings))
    assert set(tables) == TOLD | {"similarity_table4"}
    assert [row["manifest"] for row in tables["similarity_table4"].relations["rows"]] == ["laion"]


def test_a_test_set_without_labels_is_searched_but_not_evaluated(settings):
    whole = read_settings(ROOT / "config/laion400m.yaml")
    settings["recipes"] = whole["recipes"]
    settings["similarity"]["recipe"] = whole["similarity"]["recipe"]
    name = settings["similarity"]["test_sets"][0]
    settings["corpora"][name] |= {"labels": None, "classes": None}

    run = parse_settings(settings)
    predictions = similarity_tables(run)["similarity_table4"].inputs["predictions"]
    assert not any(path.endswith(f"/{name}") for path in predictions)
    assert any("no labels, so no model is evaluated there" in each for each in left_out(run))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("other_encoders", ["other"]),
        ("random_arm", True),
        ("classifiers", ["resnet"]),
        ("dose_response", {"test_set": "val", "margins": [0.01]}),
        ("evidence", {"pruning": "sketch", "reference": "val"}),
    ],
)
def test_comparisons_with_the_small_set_are_refused_without_one(settings, name, value):
    settings["similarity"][name] = value

    with pytest.raises(ConfigError, match=f"{name}: needs `small`"):
        parse_settings(settings)
