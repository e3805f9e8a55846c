import pytest

from clipaudit.site.cells import Grid, PrintedCell, PrintedLine
from clipaudit.site.content import TableContent
from clipaudit.site.published_numbers import published_pairs
from clipaudit.site.values import shown


def cell(row, *columns):
    return PrintedCell("", row, columns, None)


def table(*rows):
    """Two stored rows per printed one: its size, and the accuracy on each test set."""
    lines = [
        PrintedLine(name, (cell(n, "size"), cell(n, "accuracy"), cell(n + 1, "accuracy")))
        for n, name in ((0, "web"), (2, "pruned"))
        if n < len(rows)
    ]
    return TableContent(
        "similarity_table1", "similarity", "Table 1", "", "tables/similarity_table1.json",
        Grid(("Dataset", "Size", "Val", "Sketch"), tuple((line,) for line in lines)),
        tuple(rows[0]), {}, rows, {}, (), {},
    )  # fmt: skip


def row(size=8, accuracy=0.5, theirs=0.25):
    return {
        "size": size, "published_size": 10, "accuracy": accuracy, "published_accuracy": theirs,
    }  # fmt: skip


def told(content, measure):
    pairs = published_pairs([content])
    return [(p["row"], p["column"], p["ours"]) for p in pairs if p["measure"] == measure]


def test_a_value_printed_once_for_a_row_is_listed_once():
    content = table(row(), row(), row(size=7), row(size=7))

    assert told(content, "size") == [("web", "Size", 8), ("pruned", "Size", 7)]


def test_a_number_is_listed_under_its_printed_heading():
    content = table(row(), row())

    assert told(content, "accuracy") == [("web", "Val", 0.5), ("web", "Sketch", 0.5)]


def test_numbers_without_a_counterpart_are_omitted():
    content = table(row(theirs=None), row(accuracy=None))

    assert told(content, "accuracy") == []


@pytest.mark.parametrize(("value", "text"), [(9230080.0, "9\u202f230\u202f080"), (-2.0, "\u22122")])
def test_whole_numbers_are_shown_as_counts(value, text):
    assert shown(value) == text
