from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from clipaudit.reports.tables import report_table

SERIES = [(0, "large", "LAION"), (1, "small", "ImageNet")]


def neighbors(view, nearest, testset="sketch"):
    """Nearest similarities by test row, and a second neighbour that must not count."""
    rows = [("", testset, 0, row, 0, similarity) for row, similarity in enumerate(nearest)]
    rows += [("", testset, 0, row, 1, similarity - 0.2) for row, similarity in enumerate(nearest)]
    return view("neighbors", rows).drop_columns("corpus")


@pytest.fixture
def histograms(view):
    def build(first, second, testsets=((0, "sketch", "Sketch"),), bins=20):
        names = ("position", "series", "title")
        views = {
            "testsets": view("testsets", list(testsets)),
            "series": pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in SERIES]),
            "first_neighbors": neighbors(view, first),
            "second_neighbors": neighbors(view, second),
        }
        return report_table("similarity_histograms", views, {"bins": bins})

    return build


def test_four_images_match_a_hand_calculation(histograms):
    table = histograms([0.71, 0.74, 0.75, 0.98], [0.2])

    columns = ["series", "series_title", "bin_low", "bin_high", "images", "all_images", "share"]
    assert [tuple(row.values()) for row in table.select(columns).to_pylist()] == [
        ("large", "LAION", 0.70, 0.75, 2, 4, 0.5),
        ("large", "LAION", 0.75, 0.80, 1, 4, 0.25),
        ("large", "LAION", 0.95, 1.00, 1, 4, 0.25),
        ("small", "ImageNet", 0.20, 0.25, 1, 1, 1.0),
    ]


def test_a_series_without_images_keeps_its_row(histograms):
    table = histograms([0.5], [], testsets=[(1, "val", "Val"), (0, "sketch", "Sketch")])

    columns = ["testset", "series", "bin_low", "images", "share"]
    assert [tuple(row.values()) for row in table.select(columns).to_pylist()] == [
        ("sketch", "large", 0.5, 1, 1.0),
        ("sketch", "small", None, 0, None),
        ("val", "large", None, 0, None),
        ("val", "small", None, 0, None),
    ]


def test_copies_share_the_last_bin_on_either_side_of_1_after_rounding(histograms):
    table = histograms([0.9998, 1.0, 1.0006], [-0.01])

    assert table.select(["bin_low", "bin_high", "images"]).to_pylist() == [
        {"bin_low": 0.95, "bin_high": 1.0, "images": 3},
        {"bin_low": -0.05, "bin_high": 0.0, "images": 1},
    ]


@pytest.mark.parametrize("bins", [20, 100])
def test_bins_are_exact(histograms, bins):
    # Similarities are multiples of 2^-48. Only the edges at multiples of 1/4 are, too; the hardest
    # cases at the other edges are the nearest multiples.
    edges = range(-bins, bins + 1)
    steps = range(-2, 3)
    similarities = [(edge * 2**48 // bins + step) / 2**48 for edge in edges for step in steps]
    bin_numbers = [min(floor(Fraction(s) * bins), bins - 1) for s in similarities]

    table = histograms(similarities, [], bins=bins).filter(pc.field("series") == "large")

    expected = np.unique(bin_numbers, return_counts=True)
    assert [round(low * bins) for low in table["bin_low"].to_pylist()] == expected[0].tolist()
    assert table["images"].to_pylist() == expected[1].tolist()


def test_the_order_of_input_rows_does_not_affect_the_table(histograms):
    random = np.random.default_rng(0)
    nearest = random.uniform(0.3, 1, 500)

    turned = histograms(nearest[::-1], random.permutation(nearest), bins=100)

    assert histograms(nearest, nearest, bins=100).equals(turned)
