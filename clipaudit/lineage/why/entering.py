"""Find and verify the files and rows used for some cells of a table, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clipaudit.errors import ClipauditError
from clipaudit.lineage.recorded_sql import TableSql
from clipaudit.lineage.why.bindings import bindings
from clipaudit.lineage.why.cells import Cells
from clipaudit.lineage.why.named_tables import NamedTable
from clipaudit.lineage.why.parts import PassingFiles, Views
from clipaudit.lineage.why.restrictions import LEVELS, label_restrictions
from clipaudit.plaindata import Json, Row
from clipaudit.store.actions import ActionInput
from clipaudit.store.records import Record
from clipaudit.store.store import Store

MOST_CHOSEN = 20  # rows; with more, too many conditions would have to hold together
_COUNTED_FILES = 1000  # with more files in a view, rows are not counted: each would be opened
_SHOWN_UNTRIED = 3  # untried restrictions that a note names


@dataclass(frozen=True)
class Entered:
    """The input files that concern some cells, and what was found in each input, as plain data."""

    kept: Mapping[str, Sequence[ActionInput]]
    parts: Mapping[str, Json] | None = None
    verified: bool | None = None
    notes: Sequence[str] = field(default_factory=list)


def entered_cells(
    store: Store,
    record: Record,
    sql: TableSql | None,
    table: NamedTable,
    cells: Cells,
    *,
    sample: int,
    seconds: float,
) -> Entered:
    """Return what was used for the chosen cells of a table, verified by recomputing if possible.

    Otherwise return the files whose labels agree with the chosen rows, and a note that says why;
    for more than MOST_CHOSEN rows, all files.
    """
    inputs = record.ingredients.inputs
    if not cells.rows:
        return Entered(inputs)
    if cells.count > MOST_CHOSEN:
        note = f"{cells.count:,} rows are chosen; inputs are traced for at most {MOST_CHOSEN} rows."
        return Entered(inputs, notes=[note])
    reason = _why_not(sql)
    if reason:
        return by_labels(store, record, cells.rows, reason)
    try:
        return _verified(store, record, table, cells, sample=sample, seconds=seconds)
    except ClipauditError as error:
        return by_labels(store, record, cells.rows, f"The rows used cannot be read: {error}")


def by_labels(store: Store, record: Record, rows: Sequence[Row], reason: str) -> Entered:
    """Return the files whose labels agree with the chosen rows, unverified."""
    settings, views = record.ingredients.settings, Views(store, record.ingredients.inputs)
    relations, parameters = settings.get("relations", {}), settings.get("parameters", {})
    found = [bindings(row, relations, parameters) for row in rows]
    if not found:
        return Entered(record.ingredients.inputs, notes=[reason])
    widest = label_restrictions(views, found)[LEVELS[-1]]
    kept = {view: views.part(view, widest, len(found)).files for view in views.names()}
    return Entered(kept, notes=[f"{reason} Files are chosen only by their labels."])


def _why_not(sql: TableSql | None) -> str | None:
    if sql is None:
        return "No SQL made this table, so the rows used are unknown."
    if not sql.is_installed:
        return f"{sql.name}.sql was changed since, so it was not run to find the rows used."
    return None


def _verified(
    store: Store,
    record: Record,
    table: NamedTable,
    cells: Cells,
    *,
    sample: int,
    seconds: float,
) -> Entered:
    # imported only here: it imports scipy and more
    from clipaudit.lineage.why.recomputing import naming_columns
    from clipaudit.lineage.why.witness import Witness

    settings, views = record.ingredients.settings, Views(store, record.ingredients.inputs)
    original = views.parquet(table.pointer.digest).read()
    naming = naming_columns(original, cells, views, settings)
    found = Witness(settings, views, cells, naming, seconds)
    found.search()
    if not found.verified:
        reason = (
            f"The cells were not verified: there is too much to read within {seconds:g} s. "
            "--seconds allows more time."
            if found.verified is None
            else "The installed clipaudit gives other values: some of its code was changed since."
        )
        unsure = by_labels(store, record, cells.rows, reason)
        return Entered(unsure.kept, None, found.verified, unsure.notes)
    parts = found.parts()
    described = {
        view: _described(views, view, part, found.words(view), sample)
        for view, part in parts.items()
    }
    kept = {view: part.files for view, part in parts.items()}
    return Entered(kept, described, True, _left(found.not_tried, seconds))


def _left(not_tried: Sequence[str], seconds: float) -> list[str]:
    if not not_tried:
        return []
    shown = "; ".join(not_tried[:_SHOWN_UNTRIED])
    more = len(not_tried) - _SHOWN_UNTRIED
    rest = f" and {more} more" if more > 0 else ""
    return [
        f"The search for fewer rows was not finished in {seconds:g} s (--seconds): {shown}{rest}."
    ]


def _described(
    views: Views, view: str, part: PassingFiles, words: Sequence[str], sample: int
) -> dict[str, Any]:
    of_files = views.inputs[view]
    rows = views.rows(view, part) if part.on_rows else None
    shown = [] if not sample or not part.files else views.first_rows(view, part, sample)
    return {
        "files": len(part.files),
        "of_files": len(of_files),
        "rows": len(rows) if rows is not None else _count(views, part.files),
        "of_rows": _count(views, of_files),
        "by": list(words),
        "sample": shown,
    }


def _count(views: Views, files: Sequence[ActionInput]) -> int | None:
    """Return the number of rows of some files; None if slow to find, or if one is missing."""
    if len(files) > _COUNTED_FILES or not all(views.has(file) for file in files):
        return None
    return views.count(files)
