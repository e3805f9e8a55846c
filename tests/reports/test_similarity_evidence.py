import pyarrow as pa
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import published_values, report_table

T = 4.302652729911  # 97.5 % quantile of Student's t with 2 degrees of freedom


def predictions(accuracies, images=10):
    """One row an image; `accuracies` gives the right ones of ten by (recipe, manifest, testset)."""
    return pa.Table.from_pylist(
        [
            {"recipe": recipe, "manifest": manifest, "testset": name, "right_rank": int(n >= right)}
            for (recipe, manifest, name), right in accuracies.items()
            for n in range(images)
        ]
    )


def evidence(accuracies):
    recipes = sorted({recipe for recipe, _, _ in accuracies})
    arms = [
        {"recipe": recipe, "manifest": manifest, "is_pruned": manifest == "pruned"}
        for recipe in recipes
        for manifest in ("pruned", "random")
    ]
    testsets = [
        {"position": position, "testset": name, "title": name.title()}
        for position, name in enumerate(("val", "sketch"))
    ]
    views = {"predictions": predictions(accuracies), "arms": pa.Table.from_pylist(arms)}
    views |= {"testsets": pa.Table.from_pylist(testsets), "published": published_values("none")}
    return report_table("similarity_evidence", views, {"reference": "val", "t": T})


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


def test_means_and_intervals_are_those_worked_by_hand(table):
    sketch = measures(table, "sketch")

    assert sketch["pruned"]["value"] == pytest.approx(0.3)
    assert sketch["random"]["value"] == pytest.approx(0.8)
    assert sketch["effect"]["value"] == pytest.approx(-0.5)
    margin = T * 0.1 / 3**0.5  # the three effects -0.5, -0.4, -0.6 deviate by 0.1
    assert sketch["effect"]["value_low"] == pytest.approx(-0.5 - margin)
    assert sketch["effect"]["value_high"] == pytest.approx(-0.5 + margin)


def test_the_excess_is_taken_seed_by_seed(table):
    excess = measures(table, "sketch")["excess"]

    assert excess["value"] == pytest.approx(-0.4)
    assert excess["value_low"] == pytest.approx(excess["value_high"])  # -0.4 under every seed
    assert measures(table, "val")["excess"]["value"] == 0


def test_it_prints_a_column_a_measure(table):
    text = to_markdown("similarity_evidence", table)

    assert "difference beyond the reference" in text.splitlines()[2]
    assert "\N{MINUS SIGN}50.0" in text


@pytest.fixture
def orders(view):
    """Of ten images of sketch: near 2, 3, 4 right, rand 6, 5, 7, far 5, 5, 5."""
    rights = {"near": (2, 3, 4), "rand": (6, 5, 7), "far": (5, 5, 5)}
    models = [(f"seed-{seed}", order) for order in rights for seed in range(3)]
    answers = {(*model, "sketch"): rights[model[1]][int(model[0][-1])] for model in models}
    answers |= {("seed-0", "unpruned", "sketch"): 10}
    views = {
        "arms": view("arms", [(recipe, order, order) for recipe, order in models]),
        "testsets": view("testsets", [(0, "sketch", "Sketch")]),
        "predictions": predictions(answers),
        "published": published_values("none"),
    }
    return report_table("similarity_evidence_orders", views, {"t": T})


def test_orders_are_compared_seed_by_seed(orders):
    found = measures(orders, "sketch")

    values = {measure: round(row["value"], 9) for measure, row in found.items()}
    assert values == {
        **{"near": 0.3, "rand": 0.6, "far": 0.5},
        **{"near_effect": -0.3, "rand_effect": 0.1},
    }
    effect = found["near_effect"]  # -0.4, -0.2, -0.3 deviate by 0.1
    assert effect["value_high"] - effect["value"] == pytest.approx(T * 0.1 / 3**0.5)
    assert {(row["seeds"], row["images"]) for row in found.values()} == {(3, 10)}


def test_orders_print_their_differences_with_a_sign(orders):
    text = to_markdown("similarity_evidence_orders", orders)

    assert "near less rand" in text.splitlines()[2]
    assert "+10.0" in text
