import math

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.reports.fits import line_bounds
from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

TESTSETS = [(0, "val", "ImageNet-Val"), (1, "sketch", "ImageNet-Sketch"), (2, "r", "R")]
ROWS = [(0, "sketch-pruned of L-200M + IN-Train", "b32", "cut", None, False, True)]


def logit(p):
    return math.log(p / (1 - p))


@pytest.fixture
def robustness(view, published, right_ranks):
    def build(accuracies, line_models=(), points=(), rows=ROWS, paper=None):
        """Accuracies in fifths, by (recipe, manifest, test set)."""
        predictions = [
            row
            for model, right in accuracies.items()
            for row in right_ranks(*model, [int(n >= right) for n in range(5)])
        ]
        views = {
            "rows": view("rows", rows) if rows else pa.Table.from_pylist([]),
            "testsets": view("testsets", TESTSETS),
            "predictions": view("predictions", predictions) if predictions else [],
            "line_models": view("line_models", line_models),
            "line_points": view("line_points", points),
            "published": published(paper),
        }
        return report_table("similarity_robustness", views, {"reference": "val"})

    return build


def test_four_rows_match_a_hand_calculation(robustness):
    points = [
        *(("a", "val", 0.5), ("a", "sketch", 0.2)),  # logits 0 and -ln 4
        *(("b", "val", 0.8), ("b", "sketch", 0.5)),  # ln 4 and 0: the line is x - ln 4
        ("c", "val", 0.9),  # not known on sketch: no point
    ]
    clip = {("b32", "cut", "val"): 4, ("b32", "cut", "sketch"): 4, ("b32", "cut", "r"): 2}

    val, sketch, r = robustness(clip, points=points, paper="similarity_robustness").to_pylist()

    assert (sketch["points"], sketch["points_left_out"]) == (2, 0)
    assert (sketch["intercept"], sketch["slope"]) == pytest.approx((-math.log(4), 1))
    assert (sketch["reference_accuracy"], sketch["accuracy"]) == (0.8, 0.8)
    assert sketch["expected_accuracy"] == pytest.approx(0.5)
    assert sketch["effective_robustness"] == pytest.approx(0.3)
    assert sketch["published_effective_robustness"] == pytest.approx(0.3078)
    columns = ("points", "slope", "accuracy", "expected_accuracy", "effective_robustness")
    assert [r[column] for column in columns] == [0, None, 0.4, None, None]
    assert [val[column] for column in columns] == [0, None, 0.8, None, None]  # the reference
    assert [row["is_reference"] for row in (val, sketch, r)] == [True, False, False]


def test_supervised_models_are_points_and_extremes_are_omitted(robustness):
    accuracies = {
        ("r18", manifest, testset): right
        for manifest, rights in {"whole": (4, 3), "near": (3, 1), "far": (2, 0)}.items()
        for testset, right in zip(("val", "sketch"), rights, strict=True)
    }
    accuracies |= {("b32", "cut", "val"): 3, ("b32", "cut", "sketch"): 3}
    accuracies |= {("r18", "unasked", "val"): 1, ("r18", "unasked", "sketch"): 4}
    models = [("r18", name) for name in ("whole", "near", "far")]

    table = robustness(accuracies, models)

    sketch = table.to_pylist()[1]
    assert (sketch["points"], sketch["points_left_out"]) == (2, 1)
    assert sketch["expected_accuracy"] == pytest.approx(0.2)  # what `near` has, at its own val
    text = to_markdown("similarity_robustness", table)
    assert "ImageNet-Sketch (2 models, 1 left out)" in text
    assert "R (no line: 0 models)" in text
    assert "ImageNet-Val (reference)" in text


def test_a_single_abscissa_gives_no_line(robustness):
    points = [("a", "val", 0.5), ("a", "sketch", 0.2), ("b", "val", 0.5), ("b", "sketch", 0.3)]

    table = robustness({("b32", "cut", "val"): 3, ("b32", "cut", "sketch"): 3}, points=points)

    row = table.to_pylist()[1]
    assert (row["points"], row["slope"], row["expected_accuracy"]) == (2, None, None)
    assert "ImageNet-Sketch (no line: 2 models)" in to_markdown("similarity_robustness", table)


def test_a_model_at_the_end_of_the_scale_has_no_expectation(robustness):
    points = [("a", "val", 0.5), ("a", "sketch", 0.2), ("b", "val", 0.6), ("b", "sketch", 0.3)]

    table = robustness({("b32", "cut", "val"): 5, ("b32", "cut", "sketch"): 0}, points=points)

    row = table.to_pylist()[1]
    assert (row["reference_accuracy"], row["accuracy"]) == (1.0, 0.0)
    assert row["slope"] is not None
    assert row["expected_accuracy"] is row["effective_robustness"] is None


def test_no_trained_models_give_an_empty_table(robustness):
    table = robustness({}, rows=[])

    assert len(table) == 0
    assert to_markdown("similarity_robustness", table)


def test_the_line_equals_least_squares_in_numpy(robustness):
    random = np.random.default_rng(0)
    known = random.uniform(0.1, 0.9, size=(20, 2))
    points = [
        (f"m{n}", testset, float(value))
        for n, pair in enumerate(known)
        for testset, value in zip(("val", "sketch"), pair, strict=True)
    ]
    slope, intercept = np.polyfit(*np.log(known / (1 - known)).T, 1)

    table = robustness({("b32", "cut", "val"): 3, ("b32", "cut", "sketch"): 1}, points=points)

    row = table.to_pylist()[1]
    expected = 1 / (1 + np.exp(-(intercept + slope * logit(0.6))))
    assert (row["intercept"], row["slope"]) == pytest.approx((intercept, slope), rel=1e-7)
    assert row["effective_robustness"] == pytest.approx(0.2 - expected, abs=1e-8)


def test_the_distance_from_the_line_has_an_interval_with_three_models(robustness):
    known = {"a": (0.5, 0.2), "b": (0.8, 0.5), "c": (0.9, 0.6)}
    points = [
        (model, testset, accuracy)
        for model, pair in known.items()
        for testset, accuracy in zip(("val", "sketch"), pair, strict=True)
    ]
    own = {("b32", "cut", "val"): 4, ("b32", "cut", "sketch"): 4}

    (three, two) = (robustness(own, points=some).to_pylist()[1] for some in (points, points[:4]))

    columns = [f"effective_robustness{end}" for end in ("_low", "", "_high")]
    low, value, high = (three[column] for column in columns)
    assert low < value < high
    expected = line_bounds(
        *(np.array([logit(p) for p in each]) for each in zip(*known.values(), strict=True)),
        logit(0.8),
    )
    assert 0.8 - low == pytest.approx(1 / (1 + math.exp(-expected[1])))
    assert [two[column] for column in columns] == [None, pytest.approx(0.3), None]
