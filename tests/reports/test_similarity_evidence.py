import numpy as np
import pyarrow as pa
import pytest

from clipaudit.reports.over_seeds import difference_over_seeds
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import published_values, report_table
from clipaudit.similarity.reports.evidence import OF_ORDERS, OF_PRUNING


def predictions(accuracies, images=10):
    """One row per image; `accuracies`: right ones of ten, by (recipe, manifest, testset)."""
    return pa.Table.from_pylist(
        [
            {"recipe": recipe, "manifest": manifest, "testset": name, "shard": 0, "row": n}
            | {"right_rank": int(n >= right)}
            for (recipe, manifest, name), right in accuracies.items()
            for n in range(images)
        ]
    )


def evidence(accuracies):
    recipes = sorted({recipe for recipe, _, _ in accuracies})
    arms = [
        {"recipe": recipe, "manifest": manifest, "arm": manifest}
        for recipe in recipes
        for manifest in ("pruned", "random")
    ]
    testsets = [
        {"position": position, "testset": name, "title": name.title()}
        for position, name in enumerate(("val", "sketch"))
    ]
    views = {"predictions": predictions(accuracies), "arms": pa.Table.from_pylist(arms)}
    views |= {"measures": pa.Table.from_pylist(OF_PRUNING)}
    views |= {"testsets": pa.Table.from_pylist(testsets), "published": published_values("none")}
    return report_table("similarity_evidence", views, {"reference": "val"})


@pytest.fixture
def table():
    """Sketch falls by 5, 4 and 6 of ten images, val by 1, 0 and 2."""
    rights = {}
    for seed, (sketch, val) in enumerate([(5, 1), (4, 0), (6, 2)]):
        rights |= {(f"seed-{seed}", "random", "sketch"): 8, (f"seed-{seed}", "random", "val"): 9}
        rights[f"seed-{seed}", "pruned", "sketch"] = 8 - sketch
        rights[f"seed-{seed}", "pruned", "val"] = 9 - val
    return evidence(rights)


def measures(table, testset):
    return {row["measure"]: row for row in table.to_pylist() if row["testset"] == testset}


def test_means_and_intervals_match_a_hand_calculation(table):
    sketch = measures(table, "sketch")

    assert sketch["pruned"]["value"] == pytest.approx(0.3)
    assert sketch["random"]["value"] == pytest.approx(0.8)
    assert sketch["effect"]["value"] == pytest.approx(-0.5)
    # under all seeds together images 2 and 3 of ten lose 2/3 and 1, 4 to 7 lose 1 each
    losses = np.array([0, 0, 1 / 3, 2 / 3, 1, 1, 1, 1, 0, 0])
    spread = np.var(losses, ddof=1) / 10
    low, high = difference_over_seeds(np.array([-0.5, -0.4, -0.6]), spread, 10)
    assert sketch["effect"]["value_low"] == pytest.approx(low)
    assert sketch["effect"]["value_high"] == pytest.approx(high)
    assert low < -0.5 < high


def test_the_excess_is_computed_seed_by_seed(table):
    excess = measures(table, "sketch")["excess"]

    assert excess["value"] == pytest.approx(-0.4)
    # -0.4 under every seed: only the noise of both test sets' images remains
    assert excess["value_low"] < -0.4 - 0.3
    reference = measures(table, "val")["excess"]
    assert (reference["value"], reference["value_low"], reference["value_high"]) == (0, None, None)


def test_a_seed_without_one_of_two_models_counts_in_no_difference():
    rights = {(f"seed-{n}", arm, "sketch"): 5 for n in (0, 1) for arm in ("random", "pruned")}
    rights["seed-2", "random", "sketch"] = 9  # its other model was left out

    sketch = measures(evidence(rights), "sketch")

    assert sketch["effect"]["value"] == 0
    assert sketch["random"]["value"] == pytest.approx(19 / 30)


def test_the_table_prints_one_column_per_measure(table):
    text = to_markdown("similarity_evidence", table)

    assert "difference beyond the reference" in text.splitlines()[2]
    assert "\N{MINUS SIGN}50.0" in text


@pytest.fixture
def orders(view):
    """Right answers on ten images of sketch: near 2, 3, 4, rand 6, 5, 7, far 5, 5, 5."""
    rights = {"near": (2, 3, 4), "rand": (6, 5, 7), "far": (5, 5, 5)}
    models = [(f"seed-{seed}", order) for order in rights for seed in range(3)]
    answers = {(*model, "sketch"): rights[model[1]][int(model[0][-1])] for model in models}
    answers |= {("seed-0", "unpruned", "sketch"): 10}
    views = {
        "arms": view("arms", [(recipe, order, order) for recipe, order in models]),
        "measures": pa.Table.from_pylist(OF_ORDERS),
        "testsets": view("testsets", [(0, "sketch", "Sketch")]),
        "predictions": predictions(answers),
        "published": published_values("none"),
    }
    return report_table("similarity_evidence", views, {"reference": ""})


def test_orders_are_compared_seed_by_seed(orders):
    found = measures(orders, "sketch")

    values = {measure: round(row["value"], 9) for measure, row in found.items()}
    assert values == {
        **{"near": 0.3, "rand": 0.6, "far": 0.5},
        **{"near_effect": -0.3, "rand_effect": 0.1},
    }
    effect = found["near_effect"]
    assert effect["value_low"] < -0.3 < effect["value_high"]
    assert {(row["seeds"], row["images"]) for row in found.values()} == {(3, 10)}


def test_differences_of_orders_are_printed_with_a_sign(orders):
    text = to_markdown("similarity_evidence_orders", orders)

    assert "near less rand" in text.splitlines()[2]
    assert "+10.0" in text
