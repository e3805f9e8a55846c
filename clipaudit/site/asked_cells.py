"""A cell that people name as a printed table shows it: by the names of its row and its column."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from clipaudit.catalog.sqltext import identifier, literal
from clipaudit.errors import InputError
from clipaudit.plaindata import Row
from clipaudit.reports.layouts import DASH, Layout, Listing
from clipaudit.site.cells import Grid, PrintedCell, printed_grid
from clipaudit.suggestions import did_you_mean


def asked_cell(table: Path, layout: Layout | Listing, row: str, column: str) -> tuple[str, str]:
    """Return the SQL condition and the column that a cell of a printed table stands for.

    `table` is the report table as Parquet. Names are those of the table's Markdown form and of its
    page; the dash before an indented row may be left out. Raises InputError, with the nearest
    names, for a row or column that is not printed, for a name that several rows have, and for a
    cell that prints nothing.
    """
    rows = pq.read_table(table).to_pylist()
    grid = printed_grid(rows, layout)
    place = _column(grid, column)
    named = [lines[0] for lines in grid.rows if _bare(lines[0].name) == _bare(row)]
    if not named:
        names = [_bare(lines[0].name) for lines in grid.rows]
        raise InputError(f"no row is called {row!r}.{did_you_mean(row, names)}")
    if len(named) > 1:
        raise InputError(f"{len(named)} rows are called {row!r}. Name one by --where.")
    cell = named[0].cells[place - 1]
    if cell.row is None or not cell.columns:
        raise InputError(f"{row!r} prints nothing under {column!r}.")
    return " and ".join(_condition(rows, cell, layout)), cell.columns[0]


def _column(grid: Grid, column: str) -> int:
    heads = list(grid.heads)
    if column not in heads[1:]:
        raise InputError(f"no column is called {column!r}.{did_you_mean(column, heads[1:])}")
    return heads.index(column, 1)


def _bare(name: str) -> str:
    return name.removeprefix(DASH)


def _condition(rows: Sequence[Row], cell: PrintedCell, layout: Layout | Listing) -> Iterator[str]:
    """Yield equations, as few as come to hand, that this row alone satisfies.

    Names before numbers: those of the printed row and column first.
    """
    assert cell.row is not None
    mine, alike = rows[cell.row], list(rows)
    first = [layout.row, layout.column] if isinstance(layout, Layout) else []
    texts = [name for name in mine if isinstance(mine[name], str)]
    numbers = [name for name in mine if isinstance(mine[name], int)]
    for name in dict.fromkeys([*first, "position", *texts, *numbers]):
        fewer = [row for row in alike if row.get(name) == mine.get(name)]
        if len(fewer) < len(alike):
            alike = fewer
            yield f"{_unquoted(name)} {_equals(mine[name])}"


def _unquoted(name: str) -> str:
    """Return a name as SQL takes it, with quotes only where it needs them: people read this."""
    is_plain = [kind for _, kind in duckdb.tokenize(name)] == [duckdb.token_type.identifier]
    return name if is_plain else identifier(name)


def _equals(value: object) -> str:
    if value is None:
        return "is null"
    return f"= {literal(value)}" if isinstance(value, str) else f"= {value}"
