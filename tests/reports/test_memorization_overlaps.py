from itertools import combinations_with_replacement

import pyarrow as pa
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

SETS = ("a", "b", "holdout", "public")
FOUND = pa.schema([("set", pa.string()), ("how", pa.string()), ("other_set", pa.string())])


def found(rows):
    """OVERLAPS from (earlier, later, how)."""
    columns = [{"set": later, "how": how, "other_set": earlier} for earlier, later, how in rows]
    return pa.Table.from_pylist(columns, FOUND)


@pytest.fixture
def overlaps():
    def build(removed=(), remaining=(), *, has_encoder=True, searched_again=True):
        ways = {"uid": True, "caption": True, "near duplicate": has_encoder}
        pairs = [
            {"position": position, "one": one, "other": other, "title": f"{one}-{other}"}
            for position, (one, other) in enumerate(combinations_with_replacement(SETS, 2))
        ]
        views = {
            "pairs": pa.Table.from_pylist(pairs),
            "ways": pa.Table.from_pylist(
                [
                    {"position": position, "how": how, "title": f"by {how}", "checked": checked}
                    for position, (how, checked) in enumerate(ways.items())
                ]
            ),
            "removed": found(removed),
            "remaining": found(remaining) if searched_again else [],
            "drawn": pa.table({"set": ["a"] * 5 + ["b"] * 4}),
            "members": pa.table({"set": ["a"] * 5 + ["b"] * 2}),
        }
        parameters = {"searched_again": searched_again}
        return report_table("memorization_overlaps", views, parameters)

    return build


def counts(table, column):
    rows = table.to_pylist()
    return {(row["one"], row["other"], row["how"]): row[column] for row in rows if row[column]}


def test_overlaps_of_two_sets_count_in_either_direction(overlaps):
    """Each removal names the set of the repeated sample, that of the removed one, and how."""
    removed = [
        ("a", "b", "uid"),
        ("b", "a", "uid"),
        ("a", "a", "caption"),
        ("holdout", "public", "uid"),
    ]

    table = overlaps(removed)

    assert len(table) == 30  # ten pairs, three ways
    assert counts(table, "removed") == {
        ("a", "b", "uid"): 2,
        ("a", "a", "caption"): 1,
        ("holdout", "public", "uid"): 1,
    }
    assert table["remaining"].to_pylist() == [0] * 30
    row = next(row for row in table.to_pylist() if (row["one"], row["other"]) == ("a", "b"))
    assert (row["one_drawn"], row["other_drawn"]) == (5, 4)
    assert (row["one_samples"], row["other_samples"]) == (5, 2)


def test_remaining_overlaps_are_counted_and_not_assumed(overlaps):
    table = overlaps([], [("b", "public", "near duplicate")])

    assert counts(table, "remaining") == {("b", "public", "near duplicate"): 1}


def test_without_an_encoder_near_duplicates_are_reported_as_not_checked(overlaps):
    table = overlaps(has_encoder=False)

    rows = [row for row in table.to_pylist() if row["how"] == "near duplicate"]
    assert {(row["removed"], row["remaining"]) for row in rows} == {(None, None)}
    text = to_markdown("memorization_overlaps", table)
    assert text.count("not checked") == 10
    assert text.count("0 removed") == 20


def test_without_a_second_search_the_table_says_so(overlaps):
    table = overlaps([("a", "b", "uid")], searched_again=False, has_encoder=False)

    assert table["remaining"].null_count == 30
    text = to_markdown("memorization_overlaps", table)
    assert text.count("not searched again") == 20  # near duplicates were never searched
