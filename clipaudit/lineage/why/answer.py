"""Trace a number to its sources: the cell, its SQL, the rows used, and their tree of actions.

The answer is one JSON-able mapping:

    table     path of the pointer, digest, rows; action: the key of the action that placed it
    where, column, rows, count    the question; the chosen rows (the first 20) and their number
    meaning   a description of the column; null if there is none
    sql       name, text and origin of the SQL that made the table; null if none did
    parts     for each input of the SQL: files of of_files, rows of of_rows, `by`: what they were
              restricted to, `sample`: some of the rows; null if no search was possible
    verified  true if these parts alone, recomputed, give the asked cells exactly; false if all
              rows together do not; null if the SQL was not run
    notes     sentences on what is unknown, and why
    actions   by key, each once: step, labels, code, settings, environment, versions, started,
              seconds, host, threads, peak_memory_mb, outputs; inputs: files of of_files by name
    edges     `to` an action's `input` of that name, `from` the action that made it, null for a
              user's file; path, digest, labels; `more`: count and last path of the similar files
              that it stands for, or null
    code      by code digest: the digests of the modules and files that it covers, if requested

The walk reads pointers, placements and lineage records, never Snakemake's own metadata.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clipaudit.catalog.columns import column_comments, meaning
from clipaudit.errors import InputError
from clipaudit.lineage.earlier_tables import earlier, earlier_note
from clipaudit.lineage.graph import described
from clipaudit.lineage.recorded_sql import TableSql, table_sql
from clipaudit.lineage.why.cells import Cells, chosen_cells
from clipaudit.lineage.why.conditions import equations
from clipaudit.lineage.why.entering import Entered, by_labels, entered_cells
from clipaudit.lineage.why.named_tables import NamedTable, find_table
from clipaudit.lineage.why.tree import Branch, Bundle, Tree, tree_below
from clipaudit.plaindata import plain_value
from clipaudit.store.code_records import read_code
from clipaudit.store.records import Record, read_record
from clipaudit.store.store import Store

SHOWN_ROWS = 20  # of the table
SECONDS = 0.8  # for finding rows; with process start, an answer takes less than two seconds


def why(
    results: Path,
    store: Store,
    name: str,
    where: str | None = None,
    column: str | None = None,
    *,
    sample: int = 0,
    fold: bool = True,
    modules: bool = False,
    seconds: float = SECONDS,
) -> dict[str, Any]:
    """Return the sources of some cells of a table, in the form described above.

    The answer has `sample` rows of each input; with `fold`, one file for all that differ only in
    numbers; with `modules`, the parts of each code digest.

    Without the objects, in a copy of results and `store/lineage`, it has only the tree. Raise
    InputError for an unknown table or column and if no row matches, StoreError without a record.
    """
    table = find_table(results, store, name)
    record = read_record(store, table.placement.action)
    sql = table_sql(store, record)
    is_table = record.outputs[table.placement.output].extension == ".parquet"
    if not is_table and (where or column):
        raise InputError(f"{table.path}: not a table, so it has no rows to choose from.")
    cells = None  # if the object is missing, or has no rows
    if not is_table:
        entered = Entered(record.ingredients.inputs)
    elif table.object is None:
        entered = _unseen(store, record, where)
    else:
        cells = chosen_cells(table.object, str(table.path), where, column)
        entered = entered_cells(store, record, sql, table, cells, sample=sample, seconds=seconds)
    tree = tree_below(results, store, record, entered.kept, fold=fold)
    return {
        **_asked(table, cells, where, column),
        "meaning": _meaning(table, sql, column),
        "sql": {"name": sql.name, "text": sql.text, "origin": sql.origin} if sql else None,
        "parts": plain_value(entered.parts),
        "verified": entered.verified,
        "notes": [*entered.notes, *_earlier_note(results, table)],
        "actions": {key: _action(tree, key) for key in tree.records},
        "edges": [
            _edge(key, branch, each)
            for key, branches in tree.branches.items()
            for branch in branches
            for each in branch.bundles
        ],
        "code": _code(store, tree) if modules else {},
    }


def _unseen(store: Store, record: Record, where: str | None) -> Entered:
    """Return what is known without the rows: what the condition itself says about them."""
    row = {equation.column: equation.value for equation in equations(where or "true")}
    reason = "The objects are not here, so no rows are shown and nothing was recomputed."
    return by_labels(store, record, [row] if row else [], reason)


def _asked(
    table: NamedTable, cells: Cells | None, where: str | None, column: str | None
) -> dict[str, Any]:
    return {
        "table": {
            "path": str(table.path),
            "digest": table.pointer.digest,
            "rows": table.pointer.rows,
            "action": table.placement.action,
        },
        "where": where,
        "column": column,
        "rows": plain_value(cells.rows[:SHOWN_ROWS]) if cells else [],
        "count": cells.count if cells else None,
    }


def _meaning(table: NamedTable, sql: TableSql | None, column: str | None) -> str | None:
    if column is None:
        return None
    stated = column_comments(sql.name) if sql else {}
    return stated.get(column) or meaning(table.path.stem, column)


def _earlier_note(results: Path, table: NamedTable) -> list[str]:
    others = earlier(results, [table.path.relative_to(results).as_posix()])
    return [earlier_note(others)] if others else []


def _action(tree: Tree, key: str) -> dict[str, Any]:
    inputs = {
        branch.name: {"files": branch.files, "of_files": branch.of_files}
        for branch in tree.branches[key]
    }
    return {**described(tree.records[key]), "inputs": inputs}


def _edge(key: str, branch: Branch, bundle: Bundle) -> dict[str, Any]:
    more = bundle.more
    return {
        "to": key,
        "input": branch.name,
        "from": bundle.action,
        "path": bundle.file.path,
        "digest": bundle.file.digest,
        "labels": dict(bundle.file.labels),
        "more": {"files": len(more), "last": more[-1].path} if more else None,
    }


def _code(store: Store, tree: Tree) -> dict[str, Mapping[str, str] | None]:
    """Return the parts of the code digests; None for one that was not recorded."""
    digests = sorted({record.ingredients.code for record in tree.records.values()})
    records = {digest: read_code(store, digest) for digest in digests}
    return {digest: dict(found.parts) if found else None for digest, found in records.items()}
