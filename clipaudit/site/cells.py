"""Printed tables whose cells record the row and columns of the report table that they print.

A cell has the text of the Markdown form. The columns that a layout reads are recorded while it
prints a cell, so that a page can sort by true values and say where a number comes from.
"""

from collections import UserDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.layouts import (
    DASH,
    MINUS,
    MISSING,
    Cell,
    Layout,
    Line,
    Listing,
    Place,
    is_untrained,
)

Value = float | int | str | None
DIGITS = 6  # significant digits of a number that no layout prints


@dataclass(frozen=True)
class PrintedCell:
    """A cell: its text, its row number, the columns it reads, its sort value."""

    text: str
    row: int | None  # None where the table has no such row
    columns: tuple[str, ...]  # the first has the value
    value: Value


@dataclass(frozen=True)
class PrintedLine:
    """A line of a printed row: the main one, or one below it, such as an interval."""

    name: str
    cells: tuple[PrintedCell, ...]
    is_published: bool = False


@dataclass(frozen=True)
class Grid:
    """A printed table: headings, and rows of one or more lines with a cell per heading."""

    heads: tuple[str, ...]  # the first is above the names
    rows: tuple[tuple[PrintedLine, ...], ...]


class _Watched(UserDict[str, Any]):
    """A row of a report table that records which columns are read, in order."""

    def __init__(self, row: Row) -> None:
        super().__init__(row)
        self.read: dict[str, None] = {}

    def __getitem__(self, column: str) -> Any:  # noqa: ANN401
        self.read[column] = None
        return super().__getitem__(column)


def printed_grid(rows: Sequence[Row], layout: Layout | Listing) -> Grid:
    """Return a report table as its layout prints it, rows in their order.

    Untrained models without any other number have no row.
    """
    if isinstance(layout, Listing):
        listed = [
            PrintedLine(
                plain(layout.name(row)),
                tuple(_cell(cell, row, number) for cell in layout.fields.values()),
            )
            for number, row in enumerate(rows)
        ]
        shown = tuple(
            (line,) for row, line in zip(rows, listed, strict=True) if _is_shown(row, (line,))
        )
        return Grid((layout.corner, *layout.fields), shown)
    heads = {
        row[layout.column]: plain(f"{row[f'{layout.column}_title']}{layout.head_note(row)}")
        for row in rows
    }
    groups: dict[int, dict[str, tuple[int, Row]]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row["position"], {})[row[layout.column]] = (number, row)
    printed = [
        (next(iter(cells.values()))[1], tuple(_lines(layout, cells, list(heads))))
        for cells in groups.values()
    ]
    lead = (layout.lead,) if layout.lead else ()
    return Grid(
        (layout.corner, *lead, *heads.values()),
        tuple(lines for row, lines in printed if _is_shown(row, lines)),
    )


def _is_shown(row: Row, lines: Sequence[PrintedLine]) -> bool:
    return not is_untrained(row, [cell.text for line in lines for cell in line.cells])


def _lines(
    layout: Layout, cells: Mapping[str, tuple[int, Row]], columns: Sequence[str]
) -> Iterator[PrintedLine]:
    """Yield the lines of a printed row, without named lines that are empty."""
    number, first = next(iter(cells.values()))
    for line in layout.lines:
        body = [_lead(line, first, number)] if layout.lead else []
        nothing = PrintedCell("" if line.name else MISSING, None, (), None)
        for key in columns:
            place, row = cells.get(key, (0, None))
            body.append(nothing if row is None else _cell(line.body, row, place))
        if not line.name:
            indent = DASH if first.get("indent") else ""
            name = plain(f"{indent}{first[layout.row]}{layout.row_note(first)}")
            yield PrintedLine(name, tuple(body))
        elif any(cell.text for cell in body):
            yield PrintedLine(line.name, tuple(body), _is_published(body))


def _lead(line: Line, row: Row, number: int) -> PrintedCell:
    found = _cell(line.lead, row, number)
    return replace(found, value=row[line.lead_sort]) if line.lead_sort else found


def _cell(print_cell: Cell, row: Row, number: int) -> PrintedCell:
    watched = _Watched(row)
    text = plain(print_cell(watched))
    numbers = [name for name in watched.read if _is_number(row.get(name))]
    others = [name for name in watched.read if name not in numbers and name in row]
    named = isinstance(print_cell, Place)  # sorts as text, by its numbers
    value = row[numbers[0]] if numbers and not named else text or None
    if text.startswith(MINUS) and isinstance(value, int | float) and value > 0:
        value = -value  # printed with a minus sign
    return PrintedCell(text, number, tuple(numbers + others), value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_published(cells: Sequence[PrintedCell]) -> bool:
    spoken = [cell for cell in cells if cell.text and cell.columns]
    return all(cell.columns[0].startswith("published_") for cell in spoken)


def plain_grid(columns: Sequence[str], rows: Sequence[Row]) -> Grid:
    """Return a table as it is stored, one printed row per row, named by its number from 1.

    >>> grid = plain_grid(["share"], [{"share": 1 / 3}, {"share": None}])
    >>> [line.cells[0].text == text for (line,), text in zip(grid.rows, ["0.333333", MISSING])]
    [True, True]
    """
    lines = [
        PrintedLine(
            str(number + 1),
            tuple(PrintedCell(_text(row[name]), number, (name,), row[name]) for name in columns),
        )
        for number, row in enumerate(rows)
    ]
    return Grid(("row", *columns), tuple((line,) for line in lines))


def _text(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}".replace("-", MINUS)
    return str(value).replace("-", MINUS) if isinstance(value, int) else plain(value)
