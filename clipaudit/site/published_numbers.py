"""The papers' numbers: those with a counterpart of ours, and all that they print."""

from collections.abc import Iterator, Sequence
from typing import Any

from clipaudit.plaindata import Row
from clipaudit.site.content import TableContent
from clipaudit.site.values import shown


def published_pairs(tables: Sequence[TableContent]) -> list[dict[str, Any]]:
    """Return our numbers that have a published counterpart, in the tables' order.

    Each appears once, under the heading where the table prints it: a size is stored beside every
    test set's accuracy, but printed once per row. Numbers that are not printed are left out.
    """
    return [pair for table in tables for pair in _pairs(table)]


def _pairs(table: TableContent) -> Iterator[dict[str, Any]]:
    for name in table.columns:
        ours = name.removeprefix("published_")
        for line, head, row in _printing(table, ours) if ours != name else ():
            if row[name] is not None and row.get(ours) is not None:
                yield {
                    "table": table.name,
                    "row": line,
                    "column": head,
                    "measure": ours.replace("_", " "),
                    "ours": row[ours],
                    "theirs": row[name],
                    "difference": row[ours] - row[name],
                }


def _printing(table: TableContent, column: str) -> Iterator[tuple[str, str, Row]]:
    """Yield line, heading and stored row of the cells that print a column, each row once."""
    told: set[int] = set()
    for lines in table.grid.rows:
        for line in lines:
            for head, cell in zip(table.grid.heads[1:], line.cells, strict=True):
                if cell.row is not None and cell.row not in told and column in cell.columns:
                    told.add(cell.row)
                    yield lines[0].name, head, table.rows[cell.row]


def published_lines(table: TableContent) -> list[tuple[object, ...]]:
    """Return the numbers that a paper prints in a table: row, column, measure, number."""
    return [
        (line["row"], line["testset"], line["measure"].replace("_", " "), shown(line["value"]))
        for line in table.published
    ]
