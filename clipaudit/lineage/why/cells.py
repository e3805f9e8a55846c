"""Choose the cells to trace: the rows of a table that satisfy a condition."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from clipaudit.catalog.sqltext import literal
from clipaudit.errors import InputError
from clipaudit.lineage.why.conditions import columns_named, comparisons
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.suggestions import did_you_mean

MOST_ROWS = 1000  # rows held; a larger choice is not traced by row


@dataclass(frozen=True)
class Cells:
    """The chosen rows of a table, in its order, and the chosen column (None for all)."""

    columns: Sequence[str]
    rows: Sequence[Row]  # the first MOST_ROWS
    count: int
    column: str | None

    @property
    def asked(self) -> Sequence[str]:
        """The columns that the question is about."""
        return list(self.columns) if self.column is None else [self.column]


def chosen_cells(table: Path, name: str, where: str | None, column: str | None) -> Cells:
    """Return the rows of a Parquet file that satisfy an SQL condition; without one, all rows.

    `name` is the table's name in messages. Raise InputError for an unknown column (with similar
    names), for an invalid condition (with the database's message), and if no row satisfies it (with
    the existing values).
    """
    with _reading(table) as connection:
        rows = connection.from_parquet(str(table))
        columns = list(rows.columns)
        _check_columns(name, columns, [column] if column else [])
        try:
            chosen = rows.filter(where) if where else rows
            ((count,),) = chosen.aggregate("count(*)").fetchall()
            found = chosen.limit(MOST_ROWS).fetchall()
        except duckdb.Error as error:
            _check_columns(name, columns, columns_named(where or ""))
            message = f"{name}: {plain(where)} is not a valid condition: {plain(error)}"
            raise InputError(message) from error
        if where and not count:
            raise InputError(" ".join(_no_row(rows, name, where)))
    return Cells(columns, [dict(zip(columns, row, strict=True)) for row in found], count, column)


def _reading(table: Path) -> duckdb.DuckDBPyConnection:
    """Return a database that reads only this file: a condition may hold others' subqueries.

    DuckDB opens the target of a link under the link's own name.
    """
    config: dict[str, str | bool | int | float | list[str]] = {"python_enable_replacements": False}
    connection = duckdb.connect(config=config)
    connection.execute(f"set allowed_paths = [{literal(str(table))}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def _check_columns(name: str, columns: Sequence[str], named: Sequence[str]) -> None:
    """Reject an unknown column; like SQL, ignore upper and lower case."""
    known = {column.lower() for column in columns}
    for each in named:
        if each.lower() not in known:
            hint = did_you_mean(each, columns)
            raise InputError(
                f"{name}: no column {plain(each)!r}.{hint} For names in the printed table, use "
                "--cell ROW COLUMN."
            )


def _no_row(rows: duckdb.DuckDBPyRelation, name: str, where: str) -> Iterator[str]:
    """Yield sentences on what exists instead of the requested row."""
    yield f"{name}: no row satisfies {plain(where)}."
    yield f"Its columns: {', '.join(map(plain, rows.columns))}."
    for asked in comparisons(where):
        if asked.column in rows.columns:
            column = duckdb.ColumnExpression(asked.column)
            values = [str(value) for (value,) in rows.select(column).distinct().fetchall()]
            if asked.value not in values:
                hint = did_you_mean(asked.value, values)
                yield f"No {plain(asked.column)} is {plain(asked.value)!r}.{plain(hint)}"
