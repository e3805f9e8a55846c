"""Tables 1 and 4 over several seeds, with random sets as controls."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from clipaudit.config.loading import parse_settings
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import published_values, report_table
from clipaudit.similarity.reports.figures import similarity_figures
from clipaudit.similarity.reports.tables import similarity_tables

SEEDS = ["tiny", "tiny.seed-1", "tiny.seed-2"]
MANIFESTS = {"base": 0.6, "base.sketch-pruned": 0.4, "base.random-as-sketch": 0.55}


@pytest.fixture
def tables(settings):
    """A function: the tables and the figures, with some settings of the audit replaced."""

    def build(**changes):
        run = parse_settings(settings | {"similarity": settings["similarity"] | changes})
        return similarity_tables(run), similarity_figures(run)

    return build


def test_each_model_of_tables_1_and_4_is_requested_for_each_seed(tables):
    found, _ = tables(seeds=2)

    for name in ("similarity_table1", "similarity_table4"):
        asked = found[name].inputs["predictions"]
        own = {path for path in asked if path.startswith("predictions/paper/")}
        again = {path for path in asked if path.startswith("predictions/paper.seed-1/")}
        drawn = {
            path.replace("/paper", "/paper.seed-1").replace("m-as", "m-draw-2-as") for path in own
        }
        assert again == drawn
        assert len({path for path in asked if "/pretrained/openai/" in path}) == 6


def test_a_random_set_is_below_each_pruned_one_and_shares_its_place_in_the_grid(tables):
    (found, _), (alone, _) = tables(random_arm=True), tables()

    rows = found["similarity_table1"].relations["rows"]
    below = {row["dataset"]: after for row, after in pairwise(rows)}
    for row in rows:
        if row["control"] is not None:
            random = below[row["dataset"]]
            assert random["dataset"] == f"random, as many as {row['dataset']}"
            assert (random["manifest"], random["in_grid"]) == (row["control"], row["in_grid"])
    others = [row["dataset"] for row in rows if "random" not in row["dataset"]]
    assert others == [row["dataset"] for row in alone["similarity_table1"].relations["rows"]]


def test_all_other_tables_show_the_first_seed_and_say_so(tables):
    (found, figures), (once, others) = tables(seeds=2), tables()

    said = "Each model was trained with 2 seeds; this shows the first."
    for name in ("similarity_table3", "similarity_robustness"):
        assert said in found[name].notes
        assert replace(found[name], notes=once[name].notes) == once[name]
    for name, figure in figures.items():
        assert (said in figure.caption) == ("predictions" in figure.table.inputs)
        assert figure.table == others[name].table


def test_a_random_set_is_drawn_anew_for_each_seed(tables):
    trained = tables(seeds=3)[0]["similarity_table1"].relations["trainings"]

    random = [row for row in trained if row["manifest"].endswith(".random-as-sketch")]
    draws = [row["trained_on"].partition(".")[2] for row in random]
    assert draws == [f"random-{which}as-sketch" for which in ("", "draw-2-", "draw-3-")]
    assert [row["training"] for row in random] == ["paper", "paper.seed-1", "paper.seed-2"]
    others = [row for row in trained if ".random" not in row["manifest"]]
    assert all(row["trained_on"] == row["manifest"] for row in others)


def test_a_note_explains_the_measurement_of_seeds_and_random_sets(tables):
    (first, second), none = tables(seeds=2)[0]["similarity_table1"].notes, tables()[0]

    assert "means over 2 training runs" in first
    assert "over seeds and images" in first
    assert "drawn at random for each seed, as the control" in second
    assert not none["similarity_table1"].notes


@pytest.fixture
def predictions():
    """Rows of three seeds, three data sets and two test sets: 80 images, easy ones mostly right."""
    random = np.random.default_rng(0)
    easy = random.random((2, 80))
    return [
        (recipe, manifest, testset, 0, image, int(easy[place, image] > rate + luck))
        for recipe in SEEDS
        for manifest, rate in MANIFESTS.items()
        for place, testset in enumerate(("sketch", "val"))
        for luck in [random.normal(0, 0.05)]
        for image in range(80)
    ]


@pytest.fixture
def views(view, predictions):
    controls = [None, "base.random-as-sketch", None]
    baselines = [None, "base", "base"]
    rows = [
        (n, title, "tiny", manifest, baselines[n], baselines[n] is not None, True)
        for n, (title, manifest) in enumerate(
            zip(("web", "sketch-pruned", "random, as many"), MANIFESTS, strict=True)
        )
    ]
    rows.append((3, "OpenAI", "pretrained", "openai", None, False, True))
    released = [("pretrained", "openai", "val", 0, image, image % 2) for image in range(80)]
    trained = [("tiny", name, training, name) for name in MANIFESTS for training in SEEDS]
    return {
        "rows": view("rows", rows).append_column("control", [[*controls, None]]),
        "testsets": view("testsets", [(0, "val", "Val"), (1, "sketch", "Sketch")]),
        "trainings": view("trainings", [*trained, ("pretrained", "openai") * 2]),
        "predictions": view("predictions", [*predictions, *released]),
        "members": view("members", []),
        "manifest_rows": view("manifest_rows", []),
        "published": published_values("no_such_table"),
    }


@pytest.fixture
def table(views):
    return report_table("similarity_table1", views, {"over_seeds": True})


def test_means_and_changes_equal_a_recomputation_in_polars(table, predictions):
    columns = ["recipe", "manifest", "testset", "shard", "row", "right_rank"]
    answers = pl.DataFrame(predictions, schema=columns, orient="row")
    right = answers.group_by("manifest", "testset").agg((pl.col("right_rank") == 0).mean())
    means = {(manifest, testset): mean for manifest, testset, mean in right.iter_rows()}

    for row in pl.from_arrow(table).filter(recipe="tiny").iter_rows(named=True):
        own = means[row["manifest"], row["testset"]]
        assert row["accuracy"] == pytest.approx(own, abs=1e-12)
        assert row["accuracy_low"] < own < row["accuracy_high"]
        assert (row["seeds"], row["images"], row["correct"]) == (3, 80, round(240 * own))
        for other, change in (("baseline", "relative_change"), ("control", "control_change")):
            if row[other] is not None:
                expected = own / means[row[other], row["testset"]] - 1
                assert row[change] == pytest.approx(expected, abs=1e-12)
                assert row[f"{change}_low"] < expected < row[f"{change}_high"]


def test_a_model_of_one_training_run_keeps_its_exact_interval(table):
    (row,) = pl.from_arrow(table).filter(recipe="pretrained", testset="val").to_dicts()

    assert (row["seeds"], row["accuracy"]) == (1, 0.5)
    interval = (row["accuracy_low"], row["accuracy_high"])
    assert interval == pytest.approx((0.38605, 0.61395), abs=1e-4)


def test_shuffled_rows_give_the_same_bytes(views, table):
    turned = {name: each.take(np.arange(len(each))[::-1]) for name, each in views.items()}

    assert report_table("similarity_table1", turned, {"over_seeds": True}).equals(table)


def test_the_change_against_random_is_printed(table):
    text = to_markdown("similarity_table1", table)

    (line,) = [line for line in text.splitlines() if "change against random, %" in line]
    changed = pl.from_arrow(table).filter(pl.col("control_change").is_finite(), testset="val")
    (change,) = changed["control_change"]
    assert f"{100 * abs(change):.1f}" in line


def test_without_seeds_and_random_sets_the_columns_are_those_of_one_training_run(views):
    columns = report_table("similarity_table1", views, {"over_seeds": False}).column_names

    assert columns[-1] == "published_relative_change"
    assert not {"seeds", "control", "control_change"} & set(columns)
