import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

SEARCHES = [(0, "val-pruned", "val"), (1, "combined-pruned", "val"), (1, "combined-pruned", "r")]


@pytest.fixture
def gap_check(view):
    def build(gaps, kept):
        """Gaps as (test set, row, value), kept neighbours as (search, test set, row, value)."""
        neighbors = [("small", testset, 0, row, 0, gap) for testset, row, gap in gaps]
        neighbors += [("small", testset, 0, row, 1, 2.0) for testset, row, _ in gaps]
        nearest = [(search, "large", testset, 0, row, 0, s) for search, testset, row, s in kept]
        nearest += [(search, "large", testset, 0, row, 1, 3.0) for search, testset, row, _ in kept]
        views = {
            "searches": view("searches", SEARCHES),
            "testsets": view("testsets", [(0, "val", "Val"), (1, "r", "R")]),
            "neighbors": view("neighbors", neighbors),
            "kept_neighbors": view("kept_neighbors", nearest),
        }
        return report_table("similarity_gap_check", views, {})

    return build


def counts(table):
    columns = ["search", "testset", "images", "below", "ties", "above", "without_neighbor"]
    return [tuple(row.values()) for row in table.select(columns).to_pylist()]


def test_four_rows_match_a_hand_calculation(gap_check):
    gaps = [("val", row, 0.5) for row in range(4)] + [("r", 0, 0.75)]
    kept = [("val-pruned", "val", row, value) for row, value in enumerate((0.4, 0.5, 0.6))]
    kept += [("combined-pruned", "val", row, 0.25) for row in range(4)]
    kept += [("combined-pruned", "r", 0, 0.75)]

    table = gap_check(gaps, kept)

    assert counts(table) == [
        ("val-pruned", "val", 4, 1, 1, 1, 1),
        ("combined-pruned", "val", 4, 4, 0, 0, 0),
        ("combined-pruned", "r", 1, 0, 1, 0, 0),
    ]
    row = to_markdown("similarity_gap_check", table).splitlines()[4].strip("|").split("|")
    assert [cell.strip() for cell in row] == ["val-pruned", "Val", "4", "1", "1", "1", "1"]


def test_a_similarity_above_by_one_bit_counts_as_above(gap_check):
    kept = [("val-pruned", "val", 0, 0.5 + 2**-53)]

    assert counts(gap_check([("val", 0, 0.5)], kept))[0][3:] == (0, 0, 1, 0)


def test_every_sample_is_nearer_than_a_missing_gap(gap_check):
    assert counts(gap_check([], [("val-pruned", "val", 0, -0.5)]))[0][2:] == (1, 0, 0, 1, 0)
