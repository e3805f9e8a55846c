"""Compare two runs and return plain data: causes, tables, rows, cells."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from clipaudit.errors import InputError
from clipaudit.lineage.difference.causes import Causes
from clipaudit.lineage.difference.differences import (
    CellChange,
    ChangedTable,
    RowChange,
    changed_tables,
)
from clipaudit.lineage.snapshots import RecordedRun
from clipaudit.plaindata import Json
from clipaudit.suggestions import did_you_mean

if TYPE_CHECKING:
    from clipaudit.lineage.difference.attribution import Attribution


def compare_runs(
    before: RecordedRun, after: RecordedRun, *, named: Sequence[str] = (), attributing: bool = False
) -> dict[str, Any]:
    """Return what differs between the report tables of two runs, and why.

        before, after   the names of the runs
        equal           the number of equal tables
        only_before, only_after   tables that one run lacks
        causes          number (from 1, in this order), kind, name, before, after, first, steps, and
                        how many tables, cells and rows (added or removed) each reaches
        tables          table, causes, and either fault or key, counts, column changes, rows;
                        a row has key, side (A, B, both), causes, cells; a cell has column, before,
                        after, difference; with `attributing` also alone and left_over

    Tables are in path order, rows in the order of `after`. With `named`, compare only these tables;
    raise InputError, with similar names, for one that neither run has.
    """
    old, new = before.tables(), after.tables()
    chosen = _chosen(sorted({*old, *new}), named)
    both = [path for path in chosen if path in old and path in new]
    changed = changed_tables(before, after, both)
    causes = Causes(before, after, {table.path: table.placed for table in changed})
    attributed: dict[str, Attribution] = {}
    if attributing:
        from clipaudit.lineage.difference.attribution import attribute  # imports DuckDB

        attributed = {table.path: attribute(before, after, table) for table in changed}
    tables = [_table(table, causes, attributed.get(table.path)) for table in changed]
    return {
        "before": before.name,
        "after": after.name,
        "equal": len(both) - len(changed),
        "only_before": [_name(path) for path in chosen if path not in new],
        "only_after": [_name(path) for path in chosen if path not in old],
        "causes": _causes(causes, tables),
        "tables": tables,
    }


def _chosen(paths: Sequence[str], named: Sequence[str]) -> list[str]:
    known = {_name(path): path for path in paths}
    for name in named:
        if name not in known:
            raise InputError(f"No run has a table {name!r}.{did_you_mean(name, known)}")
    return [known[name] for name in dict.fromkeys(named)] if named else list(paths)


def _name(path: str) -> str:
    return PurePosixPath(path).stem


def _causes(causes: Causes, tables: Sequence[Json]) -> list[dict[str, Any]]:
    found = [
        {
            "number": number,
            "kind": cause.kind,
            "name": cause.name,
            "before": cause.before,
            "after": cause.after,
            "first": cause in causes.first,
            "steps": causes.steps(cause),
            "tables": 0,
            "cells": 0,
            "rows": 0,
        }
        for number, cause in enumerate(causes.causes, 1)
    ]
    for table in tables:
        for number in table["causes"]:
            found[number - 1]["tables"] += 1
        for row in table.get("rows", ()):
            for number in row["causes"]:
                found[number - 1]["cells"] += len(row["cells"])
                found[number - 1]["rows"] += row["side"] != "both"
    return found


def _table(table: ChangedTable, causes: Causes, found: "Attribution | None") -> dict[str, Any]:
    named = {"table": _name(table.path), "causes": list(causes.of_table(table.path))}
    change = table.change
    if change is None:
        return {**named, "fault": table.fault}
    return {
        **named,
        "key": list(change.key),
        "rows_before": change.counts[0],
        "rows_after": change.counts[1],
        "columns_removed": list(change.removed),
        "columns_added": list(change.added),
        "types": {name: list(types) for name, types in change.types.items()},
        "moved": change.is_moved,
        "rows": [
            {
                "key": dict(row.key),
                "side": "B" if row.before is None else "A" if row.after is None else "both",
                "causes": list(causes.of_row(table.path, row.agreed())),
                "cells": [_cell(row, cell, found) for cell in row.cells],
            }
            for row in change.rows
        ],
    } | ({"not_attributed": found.not_attributed()} if found else {})


def _cell(row: RowChange, cell: CellChange, found: "Attribution | None") -> dict[str, Any]:
    told = {
        "column": cell.column,
        "before": cell.before,
        "after": cell.after,
        "difference": cell.difference,
    }
    if found is None:
        return told
    return told | {
        "alone": {
            name: values.get(cell.column) if values else None for name, values in found.rows(row)
        },
        "left_over": found.left_over(row, cell),
    }
