"""Find a cell of a printed table by the names of its row and column."""

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
    """Return the SQL condition and the column of a printed table's cell.

    `table` is the report table as Parquet. Names are those of the table's Markdown form and of its
    page; the dash before an indented row is optional. Raises InputError, with the nearest names,
    for a row or column that is not printed, for a name shared by several rows, and for an empty
    cell.
    """
    rows = pq.read_table(table).to_pylist()
    grid = printed_grid(rows, layout)
    place = _column(grid, column)
    named = [lines[0] for lines in grid.rows if _bare(lines[0].name) == _bare(row)]
    if not named:
        names = [_bare(lines[0].name) for lines in grid.rows]
        raise InputError(f"no row is called {row!r}.{did_you_mean(row, names)}")
    if len(named) > 1:
        raise InputError(f"{len(named)} rows are called {row!r}. Select one with --where.")
    cell = named[0].cells[place - 1]
    if cell.row is None or not cell.columns:
        raise InputError(f"The cell of row {row!r} and column {column!r} is empty.")
    return " and ".join(_condition(rows, cell, layout)), cell.columns[0]


def _column(grid: Grid, column: str) -> int:
    heads = list(grid.heads)
    if column not in heads[1:]:
        raise InputError(f"no column is called {column!r}.{did_you_mean(column, heads[1:])}")
    return heads.index(column, 1)


def _bare(name: str) -> str:
    return name.removeprefix(DASH)


def _condition(rows: Sequence[Row], cell: PrintedCell, layout: Layout | Listing) -> Iterator[str]:
    """Yield a few equations that only this row satisfies.

    Text columns come before numbers; those of the printed row and column come first.
    """
    assert cell.row is not None
    mine, matching = rows[cell.row], list(rows)
    first = [layout.row, layout.column] if isinstance(layout, Layout) else []
    texts = [name for name in mine if isinstance(mine[name], str)]
    numbers = [name for name in mine if isinstance(mine[name], int)]
    for name in dict.fromkeys([*first, "position", *texts, *numbers]):
        fewer = [row for row in matching if row.get(name) == mine.get(name)]
        if len(fewer) < len(matching):
            matching = fewer
            yield f"{_unquoted(name)} {_equals(mine[name])}"


def _unquoted(name: str) -> str:
    """Return a name as SQL takes it, quoted only if needed, for readability."""
    is_plain = [kind for _, kind in duckdb.tokenize(name)] == [duckdb.token_type.identifier]
    return name if is_plain else identifier(name)


def _equals(value: object) -> str:
    if value is None:
        return "is null"
    return f"= {literal(value)}" if isinstance(value, str) else f"= {value}"
