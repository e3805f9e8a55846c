"""Why a number is what it is: the tree of actions below a table's rows.

The walk reads pointers, their placement records and the lineage records; never Snakemake's own
metadata. An input action whose labels contradict the chosen rows (another model, another test set)
had no part in them and is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from clipaudit.actions import ActionInput
from clipaudit.errors import InputError
from clipaudit.lineage.placements import placement
from clipaudit.lineage.records import Execution, read_record
from clipaudit.lineage.walk import maker
from clipaudit.store import Pointer, Store

SHOWN_ROWS = 20  # rows printed above the tree
SHOWN_DIGITS = 12  # hex digits of a digest that people read


def why_rows(table: Path, where: str | None, results: Path, store: Store) -> Iterator[str]:
    """Yield the lines that explain the rows of `table` that satisfy `where`."""
    columns, rows = _rows(table, where)
    if not rows:
        raise InputError(f"{table}: no row satisfies {where!r}. Its columns: {', '.join(columns)}.")
    yield from _show(columns, rows)
    pointer = _pointer_of(table)
    chosen = [dict(zip(columns, row, strict=True)) for row in rows]
    yield ""
    digest, action = Pointer.read(pointer).digest, placement(results, pointer).action
    yield from _Tree(results, store, chosen).lines(pointer, digest, action, depth=0)


def _pointer_of(table: Path) -> Path:
    pointer = table.with_suffix(".json")
    if not pointer.is_file():
        raise InputError(
            f"{table}: no pointer {pointer} beside it. Name a table in a results folder, such as "
            "results/tables/similarity_table1.parquet."
        )
    return pointer


def _rows(table: Path, where: str | None) -> tuple[list[str], list[tuple[object, ...]]]:
    with duckdb.connect() as connection:
        try:
            found = connection.execute(
                f"select * from read_parquet($table) where {where or 'true'}", {"table": str(table)}
            )
            return [column[0] for column in found.description], found.fetchall()
        except duckdb.Error as error:
            raise InputError(f"{table}: {where!r} cannot be asked: {error}") from error


def _show(columns: list[str], rows: list[tuple[object, ...]]) -> Iterator[str]:
    for row in rows[:SHOWN_ROWS]:
        cells = (f"{name}={_cell(value)}" for name, value in zip(columns, row, strict=True))
        yield "  ".join(cells)
    if len(rows) > SHOWN_ROWS:
        yield f"... and {len(rows) - SHOWN_ROWS} more rows"


def _cell(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class _Tree:
    """The actions below one pointer, each told in full once."""

    def __init__(self, results: Path, store: Store, chosen: list[dict[str, Any]]) -> None:
        self.results = results
        self.store = store
        self.chosen = chosen
        self.told: set[str] = set()

    def lines(self, path: Path, digest: str, key: str, depth: int) -> Iterator[str]:
        indent = "  " * depth
        if key in self.told:
            yield f"{indent}{path}  {digest[:SHOWN_DIGITS]}  (told above)"
            return
        self.told.add(key)
        record = read_record(self.store, key)
        ingredients = record.ingredients
        yield f"{indent}{path}  {digest[:SHOWN_DIGITS]}"
        yield (
            f"{indent}| {ingredients.step}  action {key[:SHOWN_DIGITS]}  "
            f"code {ingredients.code[:SHOWN_DIGITS]}  {_circumstances(record.execution)}"
        )
        for name, value in _flat(ingredients.settings):
            yield f"{indent}| {name} = {_short(value)}"
        for name, value in sorted(ingredients.environment.items()):
            yield f"{indent}| with {name} {value}"
        for name, files in sorted(ingredients.inputs.items()):
            yield from self._inputs(name, files, depth)

    def _inputs(self, name: str, files: Sequence[ActionInput], depth: int) -> Iterator[str]:
        concerned = [file for file in files if self._concerns(file.labels)]
        indent = "  " * (depth + 1)
        yield f"{'  ' * depth}| {name}: {len(concerned)} of {len(files)} files"
        for file in concerned:
            action = maker(self.results, file)
            if action:
                yield from self.lines(Path(file.path), file.digest, action, depth + 1)
            else:
                yield f"{indent}{file.path}  {file.digest[:SHOWN_DIGITS]}"

    def _concerns(self, labels: Mapping[str, str]) -> bool:
        """Return whether some chosen row agrees with the labels wherever both speak."""
        return any(
            all(str(row[name]) == value for name, value in labels.items() if row.get(name))
            for row in self.chosen
        )


def _circumstances(execution: Execution) -> str:
    return f"({execution.seconds} s on {execution.host}, {execution.started[:19]}Z)"


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested settings by dotted name; what was left unset is left out."""
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        elif value is not None:
            yield f"{above}{name}", value


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 100 else f"{text[:97]}..."
