"""What the tables of the memorization audit ask for, given the settings."""

from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.memorization.reports.layouts import LAYOUTS
from clipaudit.memorization.reports.tables import memorization_tables
from clipaudit.reports.layouts import Layout
from clipaudit.steps.reportfiles import report_file

DEMO = Path(__file__).parents[2] / "config/demo.yaml"


@pytest.fixture
def tables():
    """A function: the tables of the demo, with some settings of the audit replaced."""

    def build(*, similarity=True, **changes):
        settings = read_settings(DEMO)
        settings["memorization"] |= changes
        if not similarity:
            del settings["similarity"]
        return memorization_tables(parse_settings(settings))

    return build


def points(table):
    return {row["point"]: row["asked"] for row in table.relations["points"]}


def test_every_table_has_its_sql_and_its_layout(tables):
    found = tables(seeds=2)

    assert all(report_file("sql", f"{table.sql}.sql").is_file() for table in found.values())
    assert list(found) == sorted(LAYOUTS)


@pytest.mark.parametrize(
    "name", [name for name, layout in LAYOUTS.items() if isinstance(layout, Layout)]
)
def test_every_line_but_the_first_is_named(name):
    first, *others = LAYOUTS[name].lines

    assert first.name == ""
    assert all(line.name for line in others)


@pytest.mark.parametrize(
    "name", ["memorization_evidence", "memorization_gaps", "memorization_records"]
)
def test_captions_compare_with_the_hold_out_set_only_if_it_exists(tables, name):
    sources = {"scenes": {"train": 600, "public": 3000}}
    (note,) = tables(seeds=2)[name].notes
    (without,) = tables(seeds=2, sources=sources)[name].notes

    assert "of the hold-out, which" in note or "hold-out is in neither set" in note
    assert "no hold-out" in without or "without a hold-out" in without


@pytest.mark.parametrize("name", ["ensemble", "evidence"])
def test_a_caption_does_not_presuppose_a_hold_out(name):
    caption = LAYOUTS[f"memorization_{name}"].caption

    assert "if there is" in caption.partition("hold-out")[0].lower()


def test_without_the_audit_there_are_no_tables():
    settings = read_settings(DEMO)
    del settings["memorization"]

    assert memorization_tables(parse_settings(settings)) == {}


def test_points_outside_the_grid_are_shown_but_not_requested(tables):
    table = tables(grid=["epochs-10"])["memorization_gaps"]

    asked = [name for name, is_asked in points(table).items() if is_asked]
    assert asked == ["default", "epochs-10"]
    assert "token-masking-0.5" in points(table)
    assert table.inputs["gaps"] == [
        f"gaps/{public}/{point}.json" for public in ("scenes", "small") for point in asked
    ]
    # an earlier checkpoint is one of the same training
    assert table.inputs["curves"] == ["curves/scenes/set-a.json", "curves/scenes/set-b.json"]


def test_the_row_of_a_point_states_its_name_and_training_length(tables):
    rows = tables()["memorization_gaps"].relations["points"]

    told = {row["point"]: (row["title"], row["epochs"], row["encoder_a"]) for row in rows}
    assert told["default"] == ("default", 40, "scenes.set-a")
    assert told["epochs-10"] == ("epochs 10", 10, "scenes.set-a.epoch-10")
    masked = "scenes.token-masking-0.5.set-a"
    assert told["token-masking-0.5"] == ("token masking 0.5", 40, masked)


def test_utility_is_that_of_the_first_test_set(tables):
    table = tables(utility=["val", "sketch"])["memorization_gaps"]

    assert {path.split("/")[2] for path in table.inputs["utility"]} == {"val.json"}
    assert table.parameters["utility_title"] == "Glyph-Val"
    assert tables(utility=[])["memorization_gaps"].inputs["utility"] == []


def test_near_duplicates_are_checked_if_an_encoder_compares_them(tables):
    def checked(found):
        ways = found["memorization_overlaps"].relations["ways"]
        return {row["how"]: row["checked"] for row in ways}

    assert checked(tables())["near duplicate"]
    assert checked(tables(encoder=None)) == {
        **{"uid": True, "caption": True, "near duplicate": False},
    }


@pytest.mark.parametrize("asked", [True, False])
def test_overlaps_are_searched_again_on_request(tables, asked):
    found = tables(verify_overlaps=asked)["memorization_overlaps"]

    assert bool(found.inputs["remaining"]) == asked
    assert found.parameters == {"searched_again": asked}


def test_all_pairs_of_sets_are_compared(tables):
    pairs = tables()["memorization_overlaps"].relations["pairs"]

    assert [row["title"] for row in pairs] == [
        *("within A", "A and B", "A and public", "A and hold-out"),
        *("within B", "B and public", "B and hold-out"),
        *("public and hold-out", "within hold-out"),
    ]


def test_without_a_recipe_no_pair_with_b_is_compared(tables):
    recipe = {"recipe": None, "utility": [], "baselines": [], "mitigations": {}, "grid": None}
    found = tables(targets=["own"], reference="reader", **recipe)

    rows = found["memorization_overlaps"].relations["pairs"]
    assert {row["one"] for row in rows} | {row["other"] for row in rows} == {
        *("a", "holdout", "public"),
    }
    assert "b" not in {row["set"] for row in found["memorization_sets"].relations["sets"]}


def test_the_mean_over_seeds_comes_before_the_pair_tests_of_single_models(tables):
    one, several = (tables(seeds=seeds)["memorization_pairs"] for seeds in (1, 2))

    rows = several.relations["tests"]
    assert [row["title"].rpartition(", ")[2] for row in rows[:3]] == [
        *("mean over 2 seeds", "mean over 2 seeds", "model of A"),
    ]
    assert [row["position"] for row in rows] == list(range(len(rows)))
    assert several.inputs["pair_tests_over_seeds"] == [
        f"pair_tests_over_seeds/{name}/{name}.json" for name in ("scenes", "album")
    ]
    assert one.inputs["pair_tests_over_seeds"] == []


def test_the_one_model_table_starts_with_the_mean_over_seeds(tables):
    one, several = (tables(seeds=seeds)["memorization_one_model"] for seeds in (1, 2))

    titles = [row["title"].rpartition(", ")[2] for row in several.relations["tests"]]
    assert titles == ["mean over 2 seeds"] * 2 + ["model of A"] * 2
    assert several.inputs["one_model_over_seeds"] == [
        f"one_model_over_seeds/{name}/{name}.json" for name in ("scenes", "album")
    ]
    assert one.inputs["one_model_over_seeds"] == []


def test_sets_are_listed_with_the_sizes_as_written_in_the_settings(tables):
    rows = tables()["memorization_sets"].relations["sets"]

    assert [(row["source"], row["set"], row["asked"]) for row in rows] == [
        *(("scenes", "a", "600"), ("scenes", "b", "600")),
        *(("scenes", "public", "3000"), ("scenes", "holdout", "600")),
        *(("album", "a", "100"), ("album", "b", "100"), ("album", "holdout", "100")),
        ("small", "public", "1.0"),
    ]


def test_records_are_joined_to_the_similarity_audit_if_it_is_on(tables):
    on, off = (tables(similarity=asked)["memorization_joined"] for asked in (True, False))

    assert on.inputs["similarities"] == [
        f"similarities/own/{source}.drawn/00000.json" for source in ("scenes", "album")
    ]
    assert off.inputs["similarities"] == []
    quantities = [row["quantity"] for row in off.relations["quantities"]]
    assert quantities == ["recall_gap", "text_rate"]
    assert len(on.relations["quantities"]) == 2 + 6


def test_each_record_is_attacked_with_the_model_trained_on_it(tables):
    table = tables()["memorization_joined"]

    rows = table.relations["attacks"]
    assert [(row["source"], row["manifest"], row["target"]) for row in rows] == [
        (source, f"set-{trained}", f"scenes.set-{trained}")
        for trained in "ab"
        for source in ("scenes", "album")
    ]
    assert {path.split("/")[1] for path in table.inputs["recalls"]} == {
        *("scenes.set-a", "scenes.set-b"),
    }
    assert {path.split("/")[2] for path in table.inputs["recalls"]} == {"scenes"}


def test_evidence_covers_the_default_recipe_and_the_seeds(tables):
    table = tables(seeds=2, grid=["token-masking-0.5"])["memorization_evidence"]

    assert [(row["setting"], row["recipe"]) for row in table.relations["points"]] == [
        *(("default", "scenes"), ("default", "scenes.seed-1")),
        ("token-masking-0.5", "scenes.token-masking-0.5"),
        ("token-masking-0.5", "scenes.seed-1.token-masking-0.5"),
    ]
    assert "ensemble_gaps/small/default.json" in table.inputs["gaps"]
    assert "curves/scenes.seed-1/set-b-cut-1.json" in table.inputs["curves"]
    assert "memorization_evidence" not in tables()
