"""Differences of report tables: find the cells whose values differ in another run.

Rows are matched by key columns. These are the table's grain, as the first comment of its SQL states
it, or the first label-like columns (text; whole numbers and booleans before any measured number;
bounds of bins; positions last) that identify each row in both versions, without unneeded ones. Rows
that such columns do not distinguish are matched in their order.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clipaudit.errors import StoreError, TooSmall
from clipaudit.lineage.recorded_sql import installed_sql
from clipaudit.lineage.snapshots import Placed, RecordedRun
from clipaudit.plaindata import Row
from clipaudit.store.records import read_records

if TYPE_CHECKING:
    import pyarrow as pa

ADDRESS = {"corpus", "source", "shard", "row"}  # a sample's address, misleading unless complete
NTH = "nth"  # in a row's key: its number, from 1, among the rows with the same name

_GRAIN = re.compile(r"One row per \(([^)]*)\)")


@dataclass(frozen=True)
class CellChange:
    """One value that differs; numbers have a difference, after minus before."""

    column: str
    before: Any
    after: Any

    @property
    def difference(self) -> float | int | None:
        """Return after minus before; None unless both are numbers."""
        if _is_number(self.before) and _is_number(self.after):
            return self.after - self.before  # type: ignore[no-any-return]
        return None


@dataclass(frozen=True)
class RowChange:
    """A row that differs: its name, and its values in each version that has it."""

    key: Row
    name: tuple[Any, ...]  # what `rows_by_key` calls the row
    before: Row | None
    after: Row | None
    cells: tuple[CellChange, ...]  # none if one version lacks the row

    def agreed(self) -> dict[str, Any]:
        """Return the values that are the same in all versions that have the row."""
        if self.before is None or self.after is None:
            return dict(self.after or self.before or {})
        after = self.after
        return {
            name: value
            for name, value in self.before.items()
            if name in after and _same(value, after[name])
        }


@dataclass(frozen=True)
class TableChange:
    """The differences between two versions of a table."""

    key: tuple[str, ...]
    rows: tuple[RowChange, ...]
    counts: tuple[int, int]  # rows before and after
    removed: tuple[str, ...]  # columns
    added: tuple[str, ...]
    types: Mapping[str, tuple[str, str]]  # of columns whose type differs
    is_moved: bool  # rows that both have are in a different order


def table_changes(
    before: "pa.Table", after: "pa.Table", *, grain: Sequence[str] = ()
) -> TableChange:
    """Return the differences; changed and new rows in the order of `after`, then removed ones.

    `grain` are words that may name the key's columns. NaN equals NaN and null null; 1 equals 1.0.
    Columns that one version lacks are named once, not as cells.
    """
    key = key_columns(before, after, grain)
    shared = [name for name in before.column_names if name in after.column_names]
    old, new = rows_by_key(before, key), rows_by_key(after, key)
    rows = [_row_change(key, name, old.get(name), row, shared) for name, row in new.items()]
    rows += [
        _row_change(key, name, row, None, shared) for name, row in old.items() if name not in new
    ]
    in_both = [name for name in new if name in old]
    types = {name: (str(before.field(name).type), str(after.field(name).type)) for name in shared}
    return TableChange(
        key=key,
        rows=tuple(row for row in rows if row.cells or row.before is None or row.after is None),
        counts=(before.num_rows, after.num_rows),
        removed=tuple(name for name in before.column_names if name not in shared),
        added=tuple(name for name in after.column_names if name not in shared),
        types={name: each for name, each in types.items() if each[0] != each[1]},
        is_moved=in_both != [name for name in old if name in new],
    )


def key_columns(before: "pa.Table", after: "pa.Table", grain: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that identify a row in both tables, see the module; () if none.

    If no columns distinguish all rows: the text columns that distinguish most.
    """
    names = _label_columns(before, grain)
    names = [name for name in names if name in _label_columns(after, grain)]
    named = [name for name in names if _is_named(name, grain)]
    versions = [{name: table[name].to_pylist() for name in names} for table in (before, after)]
    rows = [before.num_rows, after.num_rows]
    if named and len(named) == len(grain) and _told_apart(versions, named) == rows:
        return tuple(named)
    texts = [name for name in names if _is_text(before, name)]
    first = min((names.index(name) for name in texts), default=0)
    for end in range(first + 1, len(names) + 1):
        if _told_apart(versions, names[:end]) == rows:
            return _thinned(versions, names[:end], texts, grain)
    return _thinned(versions, texts, texts, grain)


def grain_words(sql: str | None) -> list[str]:
    """Return a row's grain from the first comment of a report table's SQL.

    >>> grain_words("-- Accuracies.\\n-- One row per (data set, test\\n-- set), sorted.")
    ['data set', 'test set']
    """
    found = _GRAIN.search((sql or "").replace("\n-- ", " "))
    return [word.strip() for word in found[1].split(",")] if found else []


@dataclass(frozen=True)
class ChangedTable:
    """A report table that differs; without `change`, the reason why it cannot be compared."""

    path: str
    placed: tuple[Placed, Placed]
    change: TableChange | None
    fault: str | None


def changed_tables(
    before: RecordedRun, after: RecordedRun, paths: Iterable[str]
) -> list[ChangedTable]:
    """Return the tables at `paths`, which both runs have, that differ, in this order."""
    old, new = before.tables(), after.tables()
    differing = [path for path in paths if old[path].pointer.digest != new[path].pointer.digest]
    records = read_records(after.store, (new[path].placement.action for path in differing))
    found = []
    for path in differing:
        placed = (old[path], new[path])
        record = records.get(new[path].placement.action)
        sql = record.ingredients.settings.get("sql") if record else None
        grain = grain_words(installed_sql(sql)) if isinstance(sql, str) else []
        try:
            tables = [
                stored_table(run, each) for run, each in zip((before, after), placed, strict=True)
            ]
        except (StoreError, TooSmall) as error:
            found.append(ChangedTable(path, placed, None, str(error)))
        else:
            change = table_changes(tables[0], tables[1], grain=grain)
            found.append(ChangedTable(path, placed, change, None))
    return found


def stored_table(run: RecordedRun, placed: Placed) -> "pa.Table":
    """Return the rows of a table of a run; raise StoreError if its object is missing or altered.

    Raise TooSmall if the table was omitted.
    """
    import pyarrow.parquet as pq

    # not pq.read_table: it imports pyarrow.dataset
    return pq.ParquetFile(run.store.checked_path(placed.pointer)).read()


def _label_columns(table: "pa.Table", grain: Sequence[str]) -> list[str]:
    """Return the columns that may name a row, without measured numbers as far as possible.

    Positions come last: they move when a row is added, names do not.
    """
    import pyarrow.types as is_type

    found, measured = [], False
    for field in table.schema:
        name, kind = field.name, field.type
        is_bin = name.startswith("bin_")  # bounds of a histogram's bar: labels, not measurements
        whole = is_type.is_integer(kind) or is_type.is_boolean(kind) or is_bin
        measured = measured or (is_type.is_floating(kind) and not is_bin)
        if _is_text(table, name) or (whole and (not measured or _is_named(name, grain))):
            found.append(name)
    return sorted(found, key=lambda name: name.endswith("position"))


def _is_text(table: "pa.Table", name: str) -> bool:
    import pyarrow.types as is_type

    kind = table.field(name).type
    return bool(is_type.is_string(kind) or is_type.is_large_string(kind))


def _is_named(column: str, grain: Sequence[str]) -> bool:
    return column.replace("_", "") in {word.replace(" ", "") for word in grain}


def _told_apart(versions: Sequence[Mapping[str, list[Any]]], names: Sequence[str]) -> list[int]:
    """Return how many rows of each version these columns distinguish; without columns, none."""
    return [len(set(zip(*(each[name] for name in names), strict=True))) for each in versions]


def _thinned(
    versions: Sequence[Mapping[str, list[Any]]],
    names: list[str],
    texts: Sequence[str],
    grain: Sequence[str],
) -> tuple[str, ...]:
    """Drop columns not needed to distinguish the same rows, the least name-like first."""

    def how_little_a_name(name: str) -> tuple[int, int]:
        kinds = (name.endswith("position"), name.endswith("title"), name not in texts, True)
        return kinds.index(True), -names.index(name)

    told, kept = _told_apart(versions, names), list(names)
    fixed = {name for name in names if _is_named(name, grain)}
    for name in sorted(set(names) - fixed, key=how_little_a_name):
        fewer = [other for other in kept if other != name]
        needed = name in ADDRESS and "row" in kept
        if fewer and not needed and _told_apart(versions, fewer) == told:
            kept = fewer
    return tuple(kept)


def rows_by_key(table: "pa.Table", key: Sequence[str]) -> dict[tuple[Any, ...], Row]:
    """Return the rows by key and number (from 1) among the rows of one key."""
    seen: Counter[tuple[Any, ...]] = Counter()
    found = {}
    for row in table.to_pylist():
        name = tuple(math.nan if _is_nan(row[column]) else row[column] for column in key)
        seen[name] += 1
        found[*name, seen[name]] = row
    return found


def _row_change(
    key: Sequence[str],
    name: tuple[Any, ...],
    before: Row | None,
    after: Row | None,
    shared: Sequence[str],
) -> RowChange:
    *values, number = name
    called = dict(zip(key, values, strict=True)) | ({NTH: number} if number > 1 else {})
    cells: list[CellChange] = []
    if before is not None and after is not None:
        pairs = ((column, before[column], after[column]) for column in shared)
        cells = [CellChange(*pair) for pair in pairs if not _same(pair[1], pair[2])]
    return RowChange(called, name, before, after, tuple(cells))


def _same(before: object, after: object) -> bool:
    if isinstance(before, list) and isinstance(after, list):
        pairs = zip(before, after, strict=False)
        return len(before) == len(after) and all(_same(*pair) for pair in pairs)
    return (_is_nan(before) and _is_nan(after)) or before == after


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
