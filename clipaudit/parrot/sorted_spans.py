"""Sort text spotted elsewhere into the order of the samples, reading files once for all parts."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.corpora.listing import open_parquet
from clipaudit.corpora.sorted_rows import GivenFiles, JoinOn, sorted_rows
from clipaudit.corpora.statements import is_text, shown_value, stated_fields
from clipaudit.errors import InputError
from clipaudit.parrot.spans import Span, spans_table
from clipaudit.parrot.stated_spans import span_of_entry
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

SETTING = "parrot.spotting.given"
_PICTURE = ("spans",)  # columns if a row is an image
_SPAN = ("text", "polygon", "bbox", "score", "words")  # columns if a row is a span
_ROWS_AT_ONCE = 4096  # memory, never results
_FORMS = (
    "a row per image has `spans`, a list; a row per span has `text`, and `polygon` or `bbox` "
    "(docs/imports.md)"
)


def sort_spans(
    samples: Iterable[pa.Table], files: Sequence[Path], *, column: str, join_on: JoinOn
) -> Iterator[pa.Table]:
    """Yield the SPANS of the `samples` of all parts from `files`, ascending by (shard, row).

    Files are Parquet (`.parquet`), JSON with one object per line (`.jsonl`) or a list of objects
    (`.json`). A row holds `column` and either `spans`, a list of entries, or the fields of one
    entry; entries are those of `read_spans`. The spans of all rows of an image count, in the order
    of the files and of their rows, equal ones once. An empty or null `spans`, or an entry whose
    fields are all null, gives the image a row without text. An image without a row is not in the
    result. A row with a null in `column` is ignored.

    Memory is that of `sorted_rows`, plus one `.json`. Raises InputError for a file or a row that
    cannot be read, with its place, and if no sample has a row; StoreError if the temporary folder
    has no room.
    """
    given = GivenFiles(files, column, join_on, SETTING)

    def rows_of(path: Path, entries: bool) -> Iterator[pa.Table]:
        return _rows_of(path, column, entries)

    for table in sorted_rows(samples, given, rows_of, {"entries": pa.large_string()}):
        yield from _spans(table, given)


def _spans(table: pa.Table, given: GivenFiles) -> Iterator[pa.Table]:
    """Yield the SPANS of sorted rows, with few images as Python objects at a time."""
    rows = (row for batch in table.to_batches(_ROWS_AT_ONCE) for row in batch.to_pylist())
    pictures: list[tuple[int, int, list[Span]]] = []
    for (shard, row), own in groupby(rows, lambda each: (each["shard"], each["row"])):
        found = [span for each in own for span in _spans_of(each, given)]
        pictures.append((shard, row, list(dict.fromkeys(found))))
        if len(pictures) == _ROWS_AT_ONCE:
            yield spans_table(pictures)
            pictures = []
    if pictures:
        yield spans_table(pictures)


def _spans_of(row: Row, given: GivenFiles) -> Iterator[Span]:
    place = f"{given.files[row['file']]}: {given.column} {plain(row['value'])!r}"
    for entry in json.loads(row["entries"]):
        yield span_of_entry(entry, place)


def _rows_of(path: Path, column: str, entries: bool) -> Iterator[pa.Table]:
    """Yield the rows of a file: `value`, and on request `entries` as the text of a JSON list."""
    rows = _of_parquet(path, column, entries) if path.suffix == ".parquet" else _of_json(path)
    values: list[str | None] = []
    lists: list[str] = []
    for place, row in rows:
        values.append(_value(row, column, place))
        lists.append(_entries(row, place) if entries else "")
        if len(values) == _ROWS_AT_ONCE:
            yield _table(values, lists)
            values, lists = [], []
    yield _table(values, lists)


def _table(values: Sequence[str | None], lists: Sequence[str]) -> pa.Table:
    return pa.table({"value": pa.array(values, pa.string()), "entries": pa.array(lists)})


def _of_parquet(path: Path, column: str, entries: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    with open_parquet(path) as file:
        has = file.schema_arrow.names
        form = _PICTURE if "spans" in has else _SPAN
        if column not in has:
            raise _no_column(str(path), column, has)
        if "spans" not in has and not ("text" in has and {"polygon", "bbox"} & {*has}):
            raise InputError(
                f"{path}: no columns of spans among {', '.join(map(plain, has))}: {_FORMS}."
            )
        read = [column, *(name for name in form if entries and name in has and name != column)]
        number = 0
        try:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=read):
                for row in batch.to_pylist():
                    yield f"{path}, row {number}", row
                    number += 1
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(
                f"{path}: cannot be read after row {number}: {error}. Write it again."
            ) from error


def _of_json(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        # bytes that are not UTF-8 become half surrogate pairs, which `is_text` refuses
        with path.open(encoding="utf-8", errors="surrogateescape") as file:
            if path.suffix == ".json":
                yield from _of_list(path, json.load(file))
                return
            for number, line in enumerate(file, 1):
                if line.strip():
                    place = f"{path}, line {number}"
                    yield place, stated_fields(line, place)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}. Write it again.") from error


def _of_list(path: Path, found: object) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(found, list):
        raise InputError(f"{path}: is {shown_value(found)}, not a list of objects: {_FORMS}.")
    for number, row in enumerate(found):
        if not isinstance(row, dict):
            raise InputError(f"{path}, entry {number}: is {shown_value(row)}: {_FORMS}.")
        yield f"{path}, entry {number}", row


def _value(row: Mapping[str, Any], column: str, place: str) -> str | None:
    if column not in row:
        raise _no_column(place, column, list(row))
    value = row[column]
    if value is None or is_text(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(
        f"{place}: {column} is {shown_value(_plain_json(value))}: give a text or a whole number."
    )


def _entries(row: Mapping[str, Any], place: str) -> str:
    """Return the entries of a row as the text of a list."""
    if "spans" in row:
        entries = [] if row["spans"] is None else row["spans"]
        if not isinstance(entries, list):
            raise InputError(f"{place}: spans is {shown_value(_plain_json(entries))}: {_FORMS}.")
    elif "text" in row:
        entry = {name: row[name] for name in _SPAN if row.get(name) is not None}
        says_nothing = all(name == "score" or value == [] for name, value in entry.items())
        entries = [] if says_nothing else [entry]
    else:
        raise InputError(f"{place}: has {', '.join(map(plain, row))}: {_FORMS}.")
    return json.dumps(entries, default=_unlike_json)


def _plain_json(value: object) -> Any:  # noqa: ANN401
    return json.loads(json.dumps(value, default=_unlike_json))


def _unlike_json(value: object) -> dict[str, str]:
    """Return a placeholder for a value that JSON lacks; `read_spans` refuses it if it is used."""
    return {"type": type(value).__name__}


def _no_column(place: str, name: str, has: Sequence[str]) -> InputError:
    return InputError(
        f"{place}: no column {name!r}, but {', '.join(map(plain, has))}. Name the column of keys, "
        f"uids or URLs in {SETTING}."
    )
