"""Parts of the views that an SQL reads: some files of a view, and some of their rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clipaudit.errors import StoreError
from clipaudit.store.actions import ActionInput, LabelledFile
from clipaudit.store.store import Store

_FEW = 100  # values of a label for grouping files
_LIKE_LABELS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer)


@dataclass(frozen=True)
class Restriction:
    """Values that columns of a view must have, for each chosen row; None: no values for that row.

    The columns are labels of the view's files (whole files pass or fail), or columns in them.
    """

    view: str
    columns: tuple[str, ...]
    values: tuple[frozenset[tuple[str, ...]] | None, ...]
    of_labels: bool
    told: str = ""  # a description of the values; "" to list them

    def admits(self, row: int, labels: Mapping[str, str]) -> bool:
        """Return whether a file with these labels passes for the chosen row with this number.

        A label that the file lacks counts as agreeing.
        """
        wanted = self.values[row]
        mine = [labels.get(name, "") for name in self.columns]
        return wanted is None or any(
            all(label in ("", value) for label, value in zip(mine, each, strict=True))
            for each in wanted
        )

    @property
    def words(self) -> str:
        """The restriction as text: `manifest: a, b`."""
        values = sorted({" ".join(value) for each in self.values if each for value in each})
        return f"{' and '.join(self.columns)}: {self.told or ', '.join(values)}"


@dataclass(frozen=True)
class PassingFiles:
    """The files of a view that passed its label restrictions, and its row restrictions.

    A file passes for some of the chosen rows; its own rows must pass for one of these.
    """

    files: Sequence[ActionInput]
    passed: Sequence[frozenset[int]]  # for each file, the numbers of the chosen rows it passes for
    on_rows: Sequence[Restriction] = field(default_factory=list)


class Views:
    """The files that the views of one action read, in a store."""

    def __init__(self, store: Store, inputs: Mapping[str, Sequence[ActionInput]]) -> None:
        """Describe the views without omitted files."""
        self.inputs = {
            view: [file for file in files if not store.has_reason(file.digest)]
            for view, files in inputs.items()
        }
        self._store = store
        self._tables: dict[str, pa.Table] = {}
        self._passing = cache(self._pass)
        self._grouped = cache(self._group)  # thousands of files differ only in their part
        self.domain = cache(self._domain)
        self.parquet = cache(self._parquet)  # footers are read once

    def names(self) -> list[str]:
        """Return the views that have a file, sorted."""
        return sorted(name for name, files in self.inputs.items() if files)

    def _domain(self, view: str) -> dict[str, set[str]]:
        """Return the labels of a view's files, each with the values that it has."""
        found: dict[str, set[str]] = {}
        for file in self.inputs[view]:
            for name, value in file.labels.items():
                found.setdefault(name, set()).add(value)
        return found

    def columns(self, file: ActionInput) -> list[str]:
        """Return the columns of a file that can hold label values."""
        schema = self.parquet(file.digest).schema_arrow
        like = [each for each in schema if any(is_like(_kind(each)) for is_like in _LIKE_LABELS)]
        return [each.name for each in like]

    def part(self, view: str, restrictions: Sequence[Restriction], chosen: int) -> PassingFiles:
        """Return the files that pass all restrictions of this view for one of the `chosen` rows."""
        mine = [each for each in restrictions if each.view == view]
        of_labels = tuple(each for each in mine if each.of_labels)
        files, passed = self._passing(view, of_labels, chosen)
        return PassingFiles(files, passed, [each for each in mine if not each.of_labels])

    def _pass(
        self, view: str, of_labels: Sequence[Restriction], chosen: int
    ) -> tuple[Sequence[ActionInput], Sequence[frozenset[int]]]:
        admitted: dict[int, frozenset[int]] = {}
        for labels, numbers in self._groups(view, {n for each in of_labels for n in each.columns}):
            rows = frozenset(
                row for row in range(chosen) if all(each.admits(row, labels) for each in of_labels)
            )
            if rows:
                admitted |= dict.fromkeys(numbers, rows)
        files = self.inputs[view]
        return [files[number] for number in sorted(admitted)], [
            admitted[number] for number in sorted(admitted)
        ]

    def _groups(
        self, view: str, columns: set[str]
    ) -> Iterable[tuple[Mapping[str, str], list[int]]]:
        """Return groups of a view's files, by number, with equal values in these columns."""
        few = {name for name, values in self.domain(view).items() if len(values) <= _FEW}
        by_label = tuple(sorted(columns if columns - few else few))
        return self._grouped(view, by_label)

    def _group(self, view: str, columns: tuple[str, ...]) -> list[tuple[dict[str, str], list[int]]]:
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, file in enumerate(self.inputs[view]):
            key = tuple([file.labels.get(name, "") for name in columns])
            groups.setdefault(key, []).append(number)
        return [(dict(zip(columns, key, strict=True)), each) for key, each in groups.items()]

    # --- what a part holds ---------------------------------------------------------------------

    def source(self, view: str, part: PassingFiles) -> pa.Table | list[LabelledFile]:
        """Return a part for report_table: files, or a table if rows are omitted."""
        if part.files and not part.on_rows:
            return [LabelledFile(self._store.path(file.digest), file.labels) for file in part.files]
        if self.inputs[view] and not part.files:
            return self._no_rows(view)
        return self.rows(view, part) if part.files else []

    def _no_rows(self, view: str) -> pa.Table:
        """Return a table without rows, with the columns and labels of an available file."""
        files = self.inputs[view]
        file = next((file for file in files if self.has(file)), files[0])
        schema = self.parquet(file.digest).schema_arrow.remove_metadata()
        for label in sorted(self.domain(view), reverse=True):
            schema = schema.insert(0, pa.field(label, pa.string()))
        return schema.empty_table()

    def rows(self, view: str, part: PassingFiles) -> pa.Table:
        """Return the rows of a part, labels as columns."""
        tables = [
            _filtered(self.table(view, file), part.on_rows, passed)
            for file, passed in zip(part.files, part.passed, strict=True)
        ]
        return pa.concat_tables(tables, promote_options="permissive")

    def table(self, view: str, file: ActionInput) -> pa.Table:
        """Return the rows of a file, with all labels of the view as first columns."""
        name = f"{file.digest} {sorted(file.labels.items())}"
        if name not in self._tables:
            table = self.parquet(file.digest).read().replace_schema_metadata(None)
            for label in sorted(self.domain(view), reverse=True):
                values = pa.repeat(pa.scalar(file.labels.get(label), pa.string()), len(table))
                table = table.add_column(0, pa.field(label, pa.string()), values)
            self._tables[name] = table
        return self._tables[name]

    def first_rows(self, view: str, part: PassingFiles, count: int) -> list[dict[str, Any]]:
        """Return the first `count` rows of a part, reading no more files than needed."""
        found: list[dict[str, Any]] = []
        for file, passed in zip(part.files, part.passed, strict=True):
            one = PassingFiles([file], [passed], part.on_rows)
            found += self.rows(view, one).slice(0, count - len(found)).to_pylist()
            if len(found) == count:
                break
        return found

    def count(self, files: Sequence[ActionInput]) -> int:
        """Return the number of rows of some files."""
        return sum(self.parquet(file.digest).metadata.num_rows for file in files)

    def has(self, file: ActionInput) -> bool:
        """Return whether the object of a file exists."""
        return self._store.has(file.digest)

    def bytes(self, part: PassingFiles) -> int:
        """Return the bytes of the files of a part; raise StoreError if one is missing."""
        return sum(self._size(file.digest) for file in part.files)

    def _size(self, digest: str) -> int:
        try:
            return self._store.path(digest).stat().st_size
        except FileNotFoundError as error:
            raise StoreError(f"{self._store.path(digest)}: the object is missing.") from error

    def _parquet(self, digest: str) -> Any:  # noqa: ANN401
        path = self._store.path(digest)
        try:
            return pq.ParquetFile(path)
        except (OSError, pa.ArrowInvalid) as error:
            raise StoreError(f"{path}: not readable as Parquet ({error}).") from error


def _kind(column: pa.Field) -> pa.DataType:
    """Return the type of a column's values; repeated texts are dictionary-encoded."""
    return column.type.value_type if pa.types.is_dictionary(column.type) else column.type


def _filtered(
    table: pa.Table, restrictions: Sequence[Restriction], passed: frozenset[int]
) -> pa.Table:
    """Return the rows that pass all restrictions for one of the chosen rows in `passed`."""
    if not restrictions:
        return table
    texts = {name: table[name].cast(pa.string()) for each in restrictions for name in each.columns}
    keep = pa.array([False] * len(table), pa.bool_())
    for row in sorted(passed):
        fits = pa.array([True] * len(table), pa.bool_())
        for each in restrictions:
            wanted = each.values[row]
            if wanted is not None:
                (name,) = each.columns
                values = pa.array([value for (value,) in sorted(wanted)], pa.string())
                fits = pc.and_(fits, pc.is_in(texts[name], value_set=values))
        keep = pc.or_(keep, fits)
    return table.filter(keep)
