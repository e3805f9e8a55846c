"""Attribution: recompute a changed table with one change at a time.

The table is computed again from stored objects: everything as before except one of its views, or
one file of a view, or the table's own SQL and settings. A difference that no single change explains
comes from several changes together and is left over.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.errors import StepError, StoreError
from clipaudit.lineage.difference.differences import (
    CellChange,
    ChangedTable,
    RowChange,
    rows_by_key,
    stored_table,
    table_changes,
)
from clipaudit.lineage.difference.ingredient_changes import File, match_files
from clipaudit.lineage.recorded_sql import table_sql
from clipaudit.lineage.snapshots import RecordedRun
from clipaudit.lineage.why.recomputing import given_tables
from clipaudit.plaindata import Json, Row
from clipaudit.reports.tables import report_table
from clipaudit.store.actions import ActionInput, LabelledFile
from clipaudit.store.records import read_record
from clipaudit.store.store import Pointer, Store

OWN = "the table's own SQL and settings"
FILES_AT_MOST = 8  # if more files of a view differ, files are not substituted one at a time


@dataclass(frozen=True)
class Substitution:
    """A table with one thing from after, all else from before; or why it cannot be computed."""

    name: str
    is_whole: bool  # False: one file of a view that is substituted as a whole too
    rows: Mapping[tuple[Any, ...], Row] | None
    fault: str | None = None


@dataclass(frozen=True)
class Attribution:
    """The cells of one table with each substitution, and the substitutions that failed."""

    substitutions: Sequence[Substitution]
    faults: Sequence[str]

    def not_attributed(self) -> list[str]:
        """Return messages on what could not be done, and which substitutions failed."""
        tried = [f"{each.name}: {each.fault}" for each in self.substitutions if each.fault]
        return [*self.faults, *tried]

    def rows(self, row: RowChange) -> list[tuple[str, Row | None]]:
        """Return the row that each substitution gives; None if the table then lacks it."""
        return [
            (each.name, each.rows.get(row.name))
            for each in self.substitutions
            if each.rows is not None
        ]

    def left_over(self, row: RowChange, cell: CellChange) -> float | int | None:
        """Return the unexplained part of a number's difference; None if unknown.

        That is the difference minus those that the whole substitutions make one at a time; it is
        unknown if one of them failed.
        """
        found = [
            (each.rows or {}).get(row.name, {}) for each in self.substitutions if each.is_whole
        ]
        steps = [replace(cell, after=values.get(cell.column)).difference for values in found]
        if cell.difference is None or None in steps or self.faults or not steps:
            return None
        return cell.difference - sum(step for step in steps if step is not None)


@dataclass(frozen=True)
class _Recipe:
    """What a table is computed from: SQL, its settings, and the files of its views."""

    stores: tuple[Store, Store]
    sql: str
    is_installed: bool  # whether the SQL on disk is what ran
    own: Json  # relations, parameters, and table: whose published numbers are read
    views: Mapping[str, Sequence[File]]

    def compute(self) -> pa.Table:
        """Run the SQL; raise StoreError or StepError if it cannot run."""
        views: dict[str, pa.Table | Sequence[LabelledFile]] = {
            view: [
                LabelledFile(_object(self.stores, path, file), file.labels)
                for path, file in each
                if not any(store.has_reason(file.digest) for store in self.stores)
            ]
            for view, each in self.views.items()
        }
        return report_table(self.sql, {**views, **given_tables(self.own)}, self.own["parameters"])


_Named = tuple[str, bool, _Recipe]  # what is substituted, whether it is whole, and the recipe


def attribute(before: RecordedRun, after: RecordedRun, table: ChangedTable) -> Attribution:
    """Recompute a table with one thing at a time from `after`, all else from `before`.

    Nothing is substituted in a table that no SQL made, or if the store lacks what it needs: see
    `faults`. Views are substituted only if the SQL on disk reproduces the earlier table; the
    table's own SQL only if it is the SQL on disk.
    """
    if table.change is None:
        return Attribution((), [table.fault or ""])
    try:
        old, new = (_recipe((before, after), side, table) for side in (0, 1))
        if old is None or new is None:
            return Attribution((), ["no SQL makes it, so nothing can be substituted"])
        recipes, faults = _own_recipes(old, new)
        stored = stored_table(before, table.placed[0])
        if old.is_installed and not table_changes(stored, old.compute()).rows:
            recipes += _view_recipes(old, new)
        else:
            faults.append(
                f"no view can be substituted: the code on disk does not give {table.path} as it "
                f"was in {before.name}"
            )
    except (StoreError, StepError) as error:
        return Attribution((), [str(error)])
    return Attribution([_substitution(*each, table.change.key) for each in recipes], faults)


def _recipe(
    runs: tuple[RecordedRun, RecordedRun], side: int, table: ChangedTable
) -> _Recipe | None:
    """Return the recipe of a table in one of the runs; None if no SQL made it."""
    run = runs[side]
    record = read_record(run.store, table.placed[side].placement.action)
    sql, settings = table_sql(run.store, record), record.ingredients.settings
    if sql is None:
        return None
    own = {
        "relations": settings.get("relations", {}),
        "parameters": settings.get("parameters", {}),
        "table": settings.get("table", ""),
    }
    views = {view: run.files(files) for view, files in record.ingredients.inputs.items()}
    stores = (runs[0].store, runs[1].store)
    return _Recipe(stores, sql.name, sql.is_installed, own, views)


def _own_recipes(old: _Recipe, new: _Recipe) -> tuple[list[_Named], list[str]]:
    if (old.sql, old.own) == (new.sql, new.own) and old.is_installed and new.is_installed:
        return [], []
    if new.is_installed:
        return [(OWN, True, replace(old, sql=new.sql, own=new.own))], []
    return [], [f"{OWN} cannot be substituted: {new.sql}.sql on disk is not what ran"]


def _view_recipes(old: _Recipe, new: _Recipe) -> Iterator[_Named]:
    """Yield the recipes with one view of `new`, or with one file of it if few files differ."""
    for view in sorted(old.views.keys() | new.views.keys()):
        before, after = old.views.get(view, ()), new.views.get(view, ())
        pairs = match_files(before, after)
        differing = [pair for pair in pairs if _content(pair[0]) != _content(pair[1])]
        if differing:
            name = f"view {view}"
            yield name, True, replace(old, views={**old.views, view: after})
        if 1 < len(differing) <= FILES_AT_MOST:
            for gone, came in differing:
                path = (came or gone or ("",))[0]
                files = [file for file in before if file is not gone] + ([came] if came else [])
                yield f"{name}: {path}", False, replace(old, views={**old.views, view: files})


def _substitution(name: str, is_whole: bool, recipe: _Recipe, key: Sequence[str]) -> Substitution:
    try:
        return Substitution(name, is_whole, rows_by_key(recipe.compute(), key))
    except (StoreError, StepError) as error:
        return Substitution(name, is_whole, None, str(error))


def _content(file: File | None) -> tuple[str, dict[str, str]] | None:
    return (file[1].digest, dict(file[1].labels)) if file else None


def _object(stores: Sequence[Store], path: str, file: ActionInput) -> Path:
    """Return the path of an input's content; raise StoreError if no store has it."""
    store = next((store for store in stores if store.has(file.digest)), None)
    if store is None:
        raise StoreError(
            f"{path}: {stores[0].path(file.digest)} is missing. Run `clipaudit verify` to see what "
            "else is missing, or compare on a machine that has the objects."
        )
    size = store.path(file.digest).stat().st_size
    return store.checked_path(Pointer(file.digest, 0, size, ""))
