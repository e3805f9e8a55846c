"""Lists rows of Parquet files as the samples of a corpus without images.

A file is a shard, and its row is a row of that shard. Columns about the image are null; all others
are as in the index of tars.
"""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.corpora.captions import Captioning
from clipaudit.corpora.drops import Drops, table_of_rows
from clipaudit.corpora.image_tables import is_bytes
from clipaudit.corpora.reasons import DUPLICATE_KEY, NO_KEY, Unusable
from clipaudit.corpora.samples import (
    SAMPLES,
    caption_and_label,
    refuse_long_texts,
    sample_uid,
    stated_uid,
)
from clipaudit.corpora.shards import shown
from clipaudit.errors import InputError
from clipaudit.plaindata import Json, Row
from clipaudit.plaintext import plain

_OF_PICTURES = {"image_sha256", "image_format", "width", "height", "image_bytes"}
LISTED = pa.schema(
    [field.with_nullable(field.nullable or field.name in _OF_PICTURES) for field in SAMPLES]
)
_TEXTS = ("key", "uid", "url")  # columns that are read as text, whatever their type
_NOTHING: dict[str, Any] = dict.fromkeys(LISTED.names)


def list_samples(
    files: Sequence[tuple[int, Path]],
    columns: Json,
    captioning: Captioning,
    *,
    needs_caption: bool,
    needs_label: bool,
    drops: Drops,
) -> Iterator[pa.Table]:
    """Yield the LISTED of some files, given with their numbers, in that order.

    One table per row group is held at a time. `columns` are those of the settings' `metadata`: the
    names of `key`, `uid`, `caption`, `url` and `label`, or None, and the list `fields`. Every row
    of each file is yielded or added to `drops`. It is dropped if it has no key, if an earlier row
    of the file has its key, or, as for tars, if it lacks a needed caption or label. The column
    `metadata` is an object of the URL and the fields that are not null, or null if all are.

    The uid is that of the column `uid` if it has 32 hex digits. Otherwise it is the `sample_uid` of
    caption and URL, whose bytes replace the image's, or of caption and key if there is no URL.
    Raise InputError for a file that cannot be read or lacks a column.
    """
    for number, path in files:
        rows: dict[str, int] = {}  # of each key, the first row that has it
        for start, batch in _batches(path, columns):
            listed = []
            for row, fields in enumerate(_rows(path, batch, columns), start):
                key = fields["key"] or ""
                try:
                    first = rows.setdefault(key, row)
                    if not key:
                        raise Unusable(NO_KEY)
                    if first != row:
                        raise Unusable(DUPLICATE_KEY, f"first in row {first}")
                    found = _columns(fields, captioning, needs_caption, needs_label)
                except Unusable as unusable:
                    drops.add(number, row, key, unusable.reason, unusable.detail)
                else:
                    listed.append({**_NOTHING, "shard": number, "row": row, **found})
            yield table_of_rows([tuple(each.values()) for each in listed], LISTED)


def rows_in_file(path: Path) -> int:
    """Return how many rows a Parquet file has; raise InputError if it cannot be read."""
    with open_parquet(path) as file:
        return int(file.metadata.num_rows)


def _columns(
    fields: Row, captioning: Captioning, needs_caption: bool, needs_label: bool
) -> dict[str, Any]:
    """Return the columns of LISTED for a row besides its address; raises Unusable."""
    members = _members(fields["caption"], fields["label"])
    refuse_long_texts(members)
    caption, label = caption_and_label(members, captioning, needs_caption, needs_label)
    named = fields["url"] or fields["key"]
    return {
        "key": fields["key"],
        "uid": stated_uid(fields["uid"]) or sample_uid(named.encode("utf-8"), caption),
        "caption": caption,
        "label": label,
        "metadata": _metadata(fields),
    }


def _members(caption: object, label: object) -> dict[str, bytes]:
    """Return a row's texts as the members of an equivalent tar."""
    members = {}
    if isinstance(caption, list):
        members["json"] = json.dumps({"captions": caption}, default=str).encode()
    elif caption is not None:
        members["txt"] = str(caption).encode("utf-8")
    if _finite(label) is not None:
        members["cls"] = str(label).encode("utf-8")
    return members


def _metadata(fields: Row) -> str | None:
    held = {"url": fields["url"], **fields["fields"]}
    known = {name: value for name, value in held.items() if value is not None}
    return json.dumps(known, ensure_ascii=False, default=str) if known else None


# --- reading ----------------------------------------------------------------------------------


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open an external file; raise InputError if it cannot be read."""
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as Parquet: {error}. Fetch it again.") from error


def _batches(path: Path, columns: Json) -> Iterator[tuple[int, pa.Table]]:
    """Yield the number of each row group's first row, and the row group."""
    single = [columns[name] for name in (*_TEXTS, "caption", "label")]
    wanted = list(dict.fromkeys([name for name in single if name is not None] + columns["fields"]))
    start = 0
    with open_parquet(path) as file:
        has = file.schema_arrow.names
        for name in wanted:
            if name not in has:
                raise InputError(
                    f"{path}: no column {name!r}, but {', '.join(map(plain, has))}. Name one of "
                    "them in the corpus's `metadata`."
                )
        for group in range(file.num_row_groups):
            try:
                table = file.read_row_group(group, columns=wanted)
            except (OSError, pa.ArrowException) as error:
                raise InputError(
                    f"{path}: row group {group} cannot be read: {error}. Fetch it again."
                ) from error
            yield start, table
            start += len(table)


def _rows(path: Path, table: pa.Table, columns: Json) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table: key, uid, url, caption, label, and the further `fields`."""
    count = len(table)
    held = {name: _texts(path, table, columns[name]) for name in _TEXTS}
    held |= {name: _values(path, table, columns[name]) for name in ("caption", "label")}
    others = {name: _values(path, table, name) for name in columns["fields"]}
    for at in range(count):
        row: dict[str, Any] = {name: values[at] for name, values in held.items()}
        key = row["key"] if columns["key"] is not None else row["uid"]
        row["key"] = None if key is None else shown(key.encode("utf-8"))
        row["fields"] = {name: _finite(values[at]) for name, values in others.items()}
        yield row


def _texts(
    path: Path, table: pa.Table, name: str | None, kind: pa.DataType | None = None
) -> list[Any]:
    """Return a column of texts, or of the given type."""
    if name is None:
        return [None] * len(table)
    try:
        texts = table[name].cast(kind or pa.string())
        texts.validate(full=True)
    except pa.ArrowException as error:
        raise InputError(
            f"{path}: column {name!r} of type {table[name].type} is not text: {error}. "
            "Name another."
        ) from error
    return texts.to_pylist()  # type: ignore[no-any-return]


def _values(path: Path, table: pa.Table, name: str | None) -> list[Any]:
    if name is None:
        return [None] * len(table)
    kind = table[name].type
    if pa.types.is_dictionary(kind) or pa.types.is_large_string(kind) or is_bytes(kind):
        # some writers store texts as bytes
        return _texts(path, table, name)
    if pa.types.is_list(kind) and is_bytes(kind.value_type):
        return _texts(path, table, name, pa.list_(pa.string()))
    try:
        table[name].validate(full=True)
    except pa.ArrowException as error:
        raise InputError(f"{path}: column {name!r}: {error}. Write the file again.") from error
    return table[name].to_pylist()  # type: ignore[no-any-return]


def _finite(value: object) -> object:
    """Return the value, with null for NaN and infinity, which JSON lacks."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
