"""Imports img2dataset's output: tars, and Parquet of every tried row, compared with each other.

    00000.tar, 00000.parquet, 00000_stats.json, 00001.tar, ...

A row with status `success` is a sample of the tar; other rows are not. The statistics are written
last: a shard without them was not finished.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.corpora.shards import open_shard
from clipaudit.corpora.tarmembers import BrokenTar, TarReader
from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported, file_patterns, part_size
from clipaudit.plaintext import many, plain

_SHOWN = 10  # shards that one message lists


class Counted(NamedTuple):
    """Rows of a folder's Parquet files by status, and successes without a caption."""

    statuses: Counter[str]
    captions: bool  # whether the files have captions at all
    without_caption: int


def import_img2dataset(folder: Path, name: str, *, compared: int | None = None) -> Imported:
    """Return the block of corpus `name` for the shards of a folder, in the order of their numbers.

    The keys of each tar are compared with the rows that say `success`, reading only the tar's
    headers; with `compared`, only for that many evenly spaced shards. Raise InputError, with
    numbers and shards, for differences.
    """
    tars = complete_shards(folder)
    count = len(tars) if compared is None else min(compared, len(tars))
    chosen = [tars[place * len(tars) // count] for place in range(count)]  # evenly
    differences = [difference for tar in chosen if (difference := _difference(tar))]
    if differences:
        raise InputError(
            f"{len(differences)} of {len(chosen)} shards differ from their Parquet:\n  "
            + _listed(differences)
            + "\nRemove the files of these shards and start img2dataset again."
        )
    counted = _count(tars)
    size, parts = part_size(len(tars), counted.statuses["success"])
    block = {
        "shards": file_patterns([str(tar) for tar in tars]),
        "shards_per_part": size,
        "captions": "text" if counted.captions else "none",
    }
    return Imported({"corpora": {name: block}}, [*_notes(tars, chosen, counted), parts])


def complete_shards(folder: Path) -> list[Path]:
    """Return the tars of a folder by number; raise InputError for a shard with a missing file."""
    numbers: dict[str, set[str]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        found = re.fullmatch(r"(\d+)(\.tar|\.parquet|_stats\.json)", path.name, re.ASCII)
        if found:
            numbers.setdefault(found[1], set()).add(found[2])
    if not any(".tar" in endings for endings in numbers.values()):
        raise InputError(
            f"{folder}: no tar of img2dataset, such as 00000.tar. Name the folder that it wrote "
            "to, and let it write tars by --output_format webdataset."
        )
    lacking = [
        f"{number}: no {number}{ending}"
        for number, endings in sorted(numbers.items())
        for ending in (".tar", ".parquet", "_stats.json")
        if ending not in endings
    ]
    if lacking:
        raise InputError(
            f"{folder}: {len(lacking)} files of {len(numbers)} shards are missing:\n  "
            + _listed(lacking)
            + "\nimg2dataset writes them after a shard: start it again with the same settings."
        )
    return [folder / f"{number}.tar" for number in sorted(numbers, key=lambda each: int(each))]


def read_rows(tar: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> pa.Table:
    """Return columns of the Parquet file beside a tar; raise InputError if it lacks one.

    `optional` columns are returned if there are any.
    """
    path = tar.with_suffix(".parquet")
    try:
        file = pq.ParquetFile(path)
        lacking = [column for column in columns if column not in file.schema_arrow.names]
        if not lacking:
            there = [column for column in optional if column in file.schema_arrow.names]
            return file.read([*columns, *there])
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{path}: cannot be read as Parquet: {error}. Let img2dataset write the shard again."
        ) from error
    has = ", ".join(plain(column) for column in file.schema_arrow.names)
    raise InputError(f"{path}: no column {lacking[0]}, but {has}. Is it img2dataset's?")


def _difference(tar: Path) -> str | None:
    """Return how the samples of a tar differ from the rows that say `success`, if they do."""
    rows = read_rows(tar, ["key", "status"])
    stated = Counter(
        str(key)
        for key, status in zip(rows["key"].to_pylist(), rows["status"].to_pylist(), strict=True)
        if status == "success"
    )
    found = Counter(_keys(tar))
    if stated == found:
        return None
    lost, extra = sorted((stated - found).elements()), sorted((found - stated).elements())
    parts = [
        f"{len(keys)} {what}, first {plain(keys[0])}"
        for keys, what in ((lost, "are not in the tar"), (extra, "are only in the tar"))
        if keys
    ]
    return (
        f"{tar}: {found.total()} samples, {stated.total()} of {len(rows)} rows say success; "
        + "; ".join(parts)
    )


def _keys(tar: Path) -> list[str]:
    """Return the keys of a tar in order, from its headers; img2dataset's keys have no dot."""
    keys: dict[str, None] = {}
    file, size = open_shard(tar)
    with file:
        reader = TarReader(file, size)
        try:
            while (head := reader.head()) is not None:
                keys.setdefault(head.name.partition(b".")[0].decode("utf-8", "backslashreplace"))
        except BrokenTar as broken:
            raise InputError(
                f"{tar}: {broken}, after {len(keys)} samples. Remove the files of this shard and "
                "start img2dataset again."
            ) from None
    return list(keys)


def _count(tars: Sequence[Path]) -> Counted:
    statuses: Counter[str] = Counter()
    without, captions = 0, False
    for tar in tars:
        rows = read_rows(tar, ["status"], ["caption"])
        statuses.update(str(status) for status in rows["status"].to_pylist())
        if "caption" in rows.column_names:
            captions = True
            pairs = zip(rows["status"].to_pylist(), rows["caption"].to_pylist(), strict=True)
            without += sum(  # img2dataset writes null as an empty .txt, and numbers as texts
                status == "success" and (text is None or not str(text).strip())
                for status, text in pairs
            )
    return Counted(statuses, captions, without)


def _notes(tars: Sequence[Path], compared: Sequence[Path], counted: Counted) -> list[str]:
    statuses = dict(counted.statuses)
    success = statuses.pop("success", 0)
    others = "".join(f", {count:,} {plain(status)}" for status, count in sorted(statuses.items()))
    agree = "all" if len(compared) == len(tars) else f"{len(compared)} of {len(tars)}"
    read = f"{many(len(tars), 'shard')}, {many(counted.statuses.total(), 'row')}"
    notes = [
        f"{read}: {success:,} success{others}",
        f"{agree} shards were compared: samples of the tar = rows with success",
    ]
    if counted.without_caption:
        notes.append(f"{counted.without_caption:,} successes have no caption: index drops them")
    return notes


def _listed(lines: Sequence[str]) -> str:
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return "\n  ".join([*lines[:_SHOWN], *more])
