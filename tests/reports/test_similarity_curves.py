import numpy as np
import pyarrow as pa
import pytest

from clipaudit.reports.intervals import relative_change_interval
from clipaudit.reports.tables import report_table


def point(
    manifest, *, panel=0, series=0, recipe="b32", baseline="web", testset="sketch", in_grid=True
):
    return {
        "panel_position": panel,
        "panel_title": "Sketch",
        "series_position": series,
        "series_title": "near-pruned",
        "pruning": "near",
        "group_position": 0,
        "group_title": "",
        "testset": testset,
        "recipe": recipe,
        "manifest": manifest,
        "baseline": baseline,
        "in_grid": in_grid,
    }


@pytest.fixture
def curves(view, right_ranks):
    def build(points, ranks, kept):
        """`ranks` by (recipe, manifest), of sketch, or (recipe, manifest, test set); `kept` flags
        by manifest, which is made of one corpus."""
        predictions = [
            row
            for (recipe, manifest, *testset), values in ranks.items()
            for row in right_ranks(recipe, manifest, *(testset or ["sketch"]), values)
        ]
        rows = [
            ("large", manifest, 0, row, bool(keep))
            for manifest, keeps in kept.items()
            for row, keep in enumerate(keeps)
        ]
        views = {
            "points": pa.Table.from_pylist(points),
            "predictions": view("predictions", predictions) if predictions else [],
            "members": view("members", [(name, "large", name) for name in kept]),
            "manifest_rows": view("manifest_rows", rows),
        }
        return report_table("similarity_curves", views, {})

    return build


def test_three_models_match_a_hand_calculation(curves):
    ranks = {("b32", "web"): [0, 0, 1, 2], ("b32", "near-1"): [0, 1, 1, 0]}
    kept = {"web": [1, 1, 1, 1], "near-1": [1, 0, 1, 1]}
    points = [point("near-2", in_grid=False), point("near-1"), point("web")]

    table = curves(points, ranks, kept)

    columns = ["manifest", "in_grid", "size", "removed", "share", "images", "correct", "accuracy"]
    assert [tuple(row.values()) for row in table.select(columns).to_pylist()] == [
        ("web", True, 4, 0, 1.0, 4, 2, 0.5),
        ("near-1", True, 3, 1, 0.75, 4, 2, 0.5),
        ("near-2", False, None, None, None, 0, 0, None),
    ]
    # one image gained, one lost
    assert table["relative_change"].to_pylist() == [0.0, 0.0, None]
    assert table["accuracy_low"][0].as_py() == pytest.approx(0.067586, abs=1e-6)  # 2 of 4


def test_changes_are_relative_to_the_baseline_of_each_point(curves):
    points = [
        *(point(name, series=0) for name in ("web", "web-near")),
        *(
            point(name, series=1, recipe="r18", baseline="small")
            for name in ("small", "small-near")
        ),
    ]
    right, wrong = [0] * 30, [1] * 10
    ranks = {
        ("b32", "web"): right + wrong,
        ("b32", "web-near"): right[:15] + wrong[:5] + right[:10] + wrong,
        ("r18", "small"): right[:20] + wrong * 2,
        ("r18", "small-near"): right[:10] + wrong * 3,
    }
    kept = {name: [1] for _, name in ranks}

    table = curves(points, ranks, kept).to_pylist()

    change = {row["manifest"]: row["relative_change"] for row in table}
    assert change == pytest.approx({"web": 0, "web-near": -1 / 6, "small": 0, "small-near": -0.5})
    near = next(row for row in table if row["manifest"] == "small-near")
    assert near["relative_change_low"] < -0.5 < near["relative_change_high"] < 0
    assert table[0]["relative_change_low"] is None  # the baseline against itself


def test_the_interval_pairs_the_images(curves):
    was_right = np.repeat([1, 1, 0, 0], [40, 10, 5, 45]).astype(bool)
    is_right = np.repeat([1, 0, 1, 0], [40, 10, 5, 45]).astype(bool)
    ranks = {("b32", "web"): (~was_right).astype(int).tolist()}
    ranks["b32", "near-1"] = (~is_right).astype(int).tolist()

    row = curves([point("near-1")], ranks, {"near-1": [1]}).to_pylist()[0]

    low, high = relative_change_interval(*(np.array([n]) for n in (40, 10, 5, 45)))[0]
    assert (row["relative_change_low"], row["relative_change_high"]) == (low, high)


def test_recipes_and_test_sets_are_kept_separate(curves):
    models = [(recipe, name) for recipe in ("b32", "b16") for name in ("web", "near-1")]
    ranks = {
        (recipe, name, testset): [0] * right + [1] * (8 - right)
        for (recipe, name), rights in zip(models, [(8, 4), (4, 2), (6, 3), (3, 3)], strict=True)
        for testset, right in zip(("sketch", "val"), rights, strict=True)
    }
    points = [
        point(name, panel=panel, series=series, recipe=recipe, testset=testset)
        for panel, testset in enumerate(("sketch", "val"))
        for series, recipe in enumerate(("b32", "b16"))
        for name in ("web", "near-1")
    ]

    table = curves(points, ranks, {"web": [1, 1], "near-1": [1, 0]})

    assert table["correct"].to_pylist() == [8, 4, 6, 3, 4, 2, 3, 3]
    assert table["relative_change"].to_pylist() == [0, -0.5, 0, -0.5, 0, -0.5, 0, 0]


def test_without_any_model_every_point_is_present_and_empty(curves):
    points = [point("web", in_grid=False), point("near-1", in_grid=False)]

    table = curves(points, {}, {"web": [1, 1]})

    assert table["accuracy"].to_pylist() == [None, None]
    assert table["relative_change"].to_pylist() == [None, None]
    assert dict(zip(table["manifest"].to_pylist(), table["size"].to_pylist(), strict=True)) == {
        "web": 2,
        "near-1": None,
    }


def test_a_model_in_two_panels_is_counted_once_in_each(curves):
    points = [point(name, panel=panel) for panel in (0, 1) for name in ("web", "near-1")]
    ranks = {("b32", "web"): [0, 1], ("b32", "near-1"): [1, 1]}

    table = curves(points, ranks, {"web": [1, 1], "near-1": [1, 0]})

    assert table["images"].to_pylist() == [2, 2, 2, 2]
    assert table["size"].to_pylist() == [2, 1, 2, 1]
    assert table["relative_change"].to_pylist() == [0, -1, 0, -1]


def test_the_order_of_input_rows_does_not_affect_the_table(view):
    random = np.random.default_rng(0)
    names = ["web", "near-1", "near-2"]
    views = {
        "points": pa.Table.from_pylist([point(name, series=s) for s in (0, 1) for name in names]),
        "predictions": view(
            "predictions",
            [
                ("b32", m, "sketch", 0, row, int(random.integers(2)))
                for m in names
                for row in range(50)
            ],
        ),
        "members": view("members", [(name, "large", name) for name in names]),
        "manifest_rows": view(
            "manifest_rows",
            [("large", m, 0, row, bool(random.integers(2))) for m in names for row in range(50)],
        ),
    }
    turned = {name: table.take(random.permutation(len(table))) for name, table in views.items()}

    table = report_table("similarity_curves", views, {})

    assert table.equals(report_table("similarity_curves", turned, {}))
