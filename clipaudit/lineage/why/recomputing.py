"""Run a table's SQL again on parts of its views, and compare with the cells it gave before."""

from collections.abc import Sequence

import pyarrow as pa

from clipaudit.lineage.why.bindings import as_text
from clipaudit.lineage.why.cells import Cells
from clipaudit.lineage.why.parts import Views
from clipaudit.plaindata import Json, Row
from clipaudit.reports.tables import published_values


def given_tables(settings: Json) -> dict[str, pa.Table]:
    """Return the tables that an SQL reads besides files: relations and published numbers."""
    relations = settings["relations"].items()
    tables = {view: pa.Table.from_pylist(rows) for view, rows in relations}
    return {**tables, "published": published_values(settings.get("table", ""))}


def naming_columns(table: pa.Table, cells: Cells, views: Views, settings: Json) -> list[str]:
    """Return a few columns that distinguish the chosen rows from all others.

    Columns that the SQL's views and relations also have are tried first, and texts before numbers;
    the requested column is never used. Rows that no column distinguishes stay together. If whole
    rows are requested, all columns are needed.
    """
    if cells.column is None:
        return list(cells.columns)
    first = _read_columns(views, settings)
    like = [name for name in table.column_names if name != cells.column and _names(table[name])]
    order = sorted(
        like,
        # `position` last: in some tables it depends on which other rows exist
        key=lambda name: (name == "position", name not in first, not _is_text(table[name])),
    )
    rows = table.select(like).to_pylist()
    chosen = [{name: row[name] for name in like} for row in cells.rows]
    groups = [rows] * len(chosen)
    naming = []
    for name in order:
        smaller = [
            [row for row in group if row[name] == mine[name]]
            for group, mine in zip(groups, chosen, strict=True)
        ]
        if any(len(new) < len(old) for new, old in zip(smaller, groups, strict=True)):
            naming.append(name)
            groups = smaller
    return naming


def gives_again(table: pa.Table, cells: Cells, naming: Sequence[str]) -> bool:
    """Return whether a recomputed table has the asked cells of every chosen row, exactly."""
    if not {*naming, *cells.asked} <= set(table.column_names):
        return False
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in table.select(sorted({*naming, *cells.asked})).to_pylist():
        found.setdefault(_key(row, naming), []).append(row)
    return all(
        any(
            all(_is_same(row[name], mine[name]) for name in cells.asked)
            for row in found.get(_key(mine, naming), [])
        )
        for mine in cells.rows
    )


def _read_columns(views: Views, settings: Json) -> set[str]:
    """Return the columns of the views (from an available file) and of the relations."""
    found = {name for rows in settings["relations"].values() for row in rows for name in row}
    for view in views.names():
        found |= views.domain(view).keys()
        file = next((file for file in views.inputs[view] if views.has(file)), None)
        found |= set(views.columns(file)) if file else set()
    return found


def _key(row: Row, naming: Sequence[str]) -> tuple[object, ...]:
    return tuple(as_text(row[name]) for name in naming)


def _names(column: pa.ChunkedArray) -> bool:
    return _is_text(column) or pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _is_same(one: object, other: object) -> bool:
    """Return whether two values are equal; NaN equals NaN."""
    return one == other or (one != one and other != other)
