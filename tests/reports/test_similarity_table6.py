import numpy as np
import pytest

from clipaudit.reports.tables import report_table

PARAMETERS = {
    "small": "small",
    "large": "large",
    "small_title": "ImageNet-Train",
    "large_title": "L-200M",  # LAION-200M in the paper's table
    "near_gap": 0.9,
}


@pytest.fixture
def table6(view, published):
    def build(similarities, gaps, kept, paper=None):
        """Gaps by test row; `kept` by row of the one shard of `large`."""
        neighbors = [("small", "sketch", 0, row, 0, gap) for row, gap in enumerate(gaps)]
        neighbors += [("large", "sketch", 0, row, 0, 1.0) for row in range(len(gaps))]
        neighbors += [("small", "sketch", 0, row, 1, 0.01) for row in range(len(gaps))]
        manifest_rows = [("large", "cut", 0, row, keep) for row, keep in enumerate(kept)]
        manifest_rows += [("large", "all", 0, row, True) for row in range(len(kept))]
        views = {
            "testsets": view("testsets", [(0, "sketch", "ImageNet-Sketch"), (1, "a", "A")]),
            "pruned": view("pruned", [("sketch", "large.cut"), ("a", "large.a")]),
            "members": view(
                "members",
                [("large.cut", "large", "cut"), ("large.a", "large", "all")],
            ),
            "manifest_rows": view("manifest_rows", manifest_rows),
            "neighbors": view("neighbors", neighbors),
            "similarities": view("similarities", similarities),
            "published": published(paper),
        }
        return report_table("similarity_table6", views, PARAMETERS).to_pylist()

    return build


def counts(table):
    columns = ("testset", "corpus", "manifest", "near_gap", "not_normalized")
    return [tuple(row[column] for column in columns) for row in table]


def test_four_rows_match_a_hand_calculation(table6):
    gaps = (0.5, 0.8, 0.0)
    similarities = [
        ("large", "sketch", 0, 0, 0.48, 0, 0),  # 0.96: near
        ("large", "sketch", 0, 1, 0.60, 0, 1),  # 0.75
        ("large", "sketch", 0, 2, 0.79, 0, 1),  # near, but pruned
        ("large", "sketch", 0, 3, 0.00, 0, 2),  # a gap of 0
        ("small", "sketch", 0, 0, 0.50, 0, 0),  # 1: near
        ("small", "sketch", 0, 1, 0.80, 0, 1),  # 1: near
    ]

    table = table6(similarities, gaps, [True, True, False, True], "similarity_table6")

    assert counts(table) == [
        ("sketch", "large", "large.cut", 1, 1),
        ("sketch", "small", None, 2, 0),
        ("a", "large", "large.a", 0, 0),
        ("a", "small", None, 0, 0),
    ]
    assert [row["published_near_gap"] for row in table] == [8_859_133, 131_087, None, None]


def test_the_threshold_is_strict_to_the_last_bit(table6):
    values = [np.nextafter(0.9, 0), 0.9, np.nextafter(0.9, 1)]
    similarities = [
        ("large", "sketch", 0, row, float(value), 0, 0) for row, value in enumerate(values)
    ]

    assert counts(table6(similarities, [1.0], [True] * 3))[0][3] == 1


def test_a_test_sample_without_a_gap_is_counted(table6):
    similarities = [("large", "sketch", 0, 0, 0.9, 0, 7), ("small", "sketch", 0, 0, 0.9, 0, 7)]

    table = counts(table6(similarities, [0.5], [True]))

    assert [row[3:] for row in table[:2]] == [(0, 1), (0, 1)]


def test_other_corpora_and_other_prunings_do_not_count(table6):
    similarities = [("other", "sketch", 0, 0, 0.5, 0, 0), ("large", "sketch", 0, 0, 0.5, 0, 0)]

    table = counts(table6(similarities, [0.5], [False]))  # kept by `all`, not by `cut`

    assert [row[3:] for row in table[:2]] == [(0, 0), (0, 0)]


def test_a_negative_gap_is_counted_and_not_divided_by(table6):
    similarities = [("small", "sketch", 0, 0, -0.2, 0, 0), ("small", "sketch", 0, 1, -0.3, 0, 0)]

    assert counts(table6(similarities, [-0.2], []))[1] == ("sketch", "small", None, 0, 2)
