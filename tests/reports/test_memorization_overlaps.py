from itertools import combinations

import pyarrow as pa
import pytest

from clipaudit.reports.rendering import to_markdown
from clipaudit.reports.tables import report_table

SETS = ("a", "b", "public", "holdout")
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
            {
                "position": position,
                "earlier": earlier,
                "later": later,
                "title": f"{earlier}-{later}",
            }
            for position, (earlier, later) in enumerate(combinations(SETS, 2))
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
    return {(row["earlier"], row["later"], row["how"]): row[column] for row in rows if row[column]}


def test_four_overlaps_by_hand(overlaps):
    removed = [("a", "b", "uid")] * 2 + [("a", "b", "caption"), ("public", "holdout", "uid")]

    table = overlaps(removed)

    assert len(table) == 18  # six pairs, three ways
    assert counts(table, "removed") == {
        ("a", "b", "uid"): 2,
        ("a", "b", "caption"): 1,
        ("public", "holdout", "uid"): 1,
    }
    assert table["remaining"].to_pylist() == [0] * 18
    first = table.to_pylist()[0]
    assert (first["earlier_drawn"], first["later_drawn"]) == (5, 4)
    assert (first["earlier_samples"], first["later_samples"]) == (5, 2)


def test_what_remains_is_counted_and_not_assumed(overlaps):
    table = overlaps([], [("b", "public", "near duplicate")])

    assert counts(table, "remaining") == {("b", "public", "near duplicate"): 1}


def test_without_an_encoder_near_duplicates_are_said_not_to_be_checked(overlaps):
    table = overlaps(has_encoder=False)

    rows = [row for row in table.to_pylist() if row["how"] == "near duplicate"]
    assert {(row["removed"], row["remaining"]) for row in rows} == {(None, None)}
    text = to_markdown("memorization_overlaps", table)
    assert text.count("not checked") == 6
    assert text.count("0 removed") == 12


def test_without_a_second_search_the_table_says_so(overlaps):
    table = overlaps([("a", "b", "uid")], searched_again=False, has_encoder=False)

    assert table["remaining"].null_count == 18
    text = to_markdown("memorization_overlaps", table)
    assert text.count("not searched again") == 12  # and not where nobody searched at all
