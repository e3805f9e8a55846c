"""Read which images show text, checked by hand, to find false alarms and misses."""

import csv
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.listing import open_parquet
from clipaudit.errors import InputError
from clipaudit.parrot.fixed import ANSWER
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain

NAMES = ("uid", "key")  # columns that identify a row's image; the first present one counts
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_WORDS |= {"1.0": True, "0.0": False}  # pandas writes a column with gaps as floats

# One row per checked image, by (shard, row).
CHECKED_TEXT = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("has_text", pa.bool_(), nullable=False),
    ]
)


def checked_text(samples: Iterable[pa.Table], path: Path) -> pa.Table:
    """Return CHECKED_TEXT of a file: CSV, JSON (a list of objects) or Parquet, by its ending.

    Its rows have the `uid` or, without that column, the `key` of an image, and `has_text`: yes or
    no, true or false, 1 or 0. Rows without an answer, or with NaN, count as not checked. Samples
    with the same uid are equal, and the first is taken. `samples` are SAMPLES, ascending by (shard,
    row), read for uid, key, shard and row.

    Raises InputError for a file that cannot be read, lacks a column or has uids in some rows and
    keys in others, for a value that is neither yes nor no, for contradicting answers about one
    image, for an image that `samples` lack, and for a key shared by several samples.
    """
    name, answers = _answers(path)
    wanted = pa.array(answers, pa.string())
    found: dict[str, tuple[int, int]] = {}
    for table in samples:
        rows = table.filter(pc.is_in(table[name], wanted)).select([name, "shard", "row"])
        for value, shard, row in zip(*rows.to_pydict().values(), strict=True):
            if name == "key" and value in found:
                raise InputError(
                    f"{path}: images at (shard, row) {found[value]} and {(shard, row)} share "
                    f"the key {plain(value)!r}. Give uids instead."
                )
            found.setdefault(value, (shard, row))
    lacking = [value for value in answers if value not in found]
    if lacking:
        raise InputError(
            f"{path}: {len(lacking)} of {len(answers)} values of {name} match no image of "
            f"this corpus, first {plain(lacking[0])!r}. Remove them, or name this corpus's file."
        )
    rows = sorted((*place, answers[value]) for value, place in found.items())
    names = CHECKED_TEXT.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], CHECKED_TEXT)


def _answers(path: Path) -> tuple[str, dict[str, bool]]:
    """Return the column that identifies images, and the answer for each."""
    name, answers = "", dict[str, bool]()
    for number, row in enumerate(_rows(path), 1):
        own = next((each for each in NAMES if each in row), "")
        if not own or ANSWER not in row:
            raise InputError(
                f"{path}: row {number} has {', '.join(map(plain, row)) or 'nothing'}, but uid or "
                f"key, and {ANSWER}, are needed. The report's page saves such a file."
            )
        name = name or own
        if own != name:
            raise InputError(
                f"{path}: row {number} names its image by {own}, and rows before it by {name}. "
                f"Name all images by {name}, or all by {own}."
            )
        stated = row[ANSWER]
        if stated in (None, "") or (isinstance(stated, float) and math.isnan(stated)):
            continue
        value, answer = str(row[name]), _WORDS.get(str(stated).strip().lower())
        if answer is None:
            raise InputError(
                f"{path}: {name} {plain(value)!r}: {ANSWER} is {plain(str(stated))!r}; write "
                "yes or no, or leave it empty if the image was not checked."
            )
        if answers.setdefault(value, answer) != answer:
            raise InputError(
                f"{path}: {name} {plain(value)!r} is answered yes and no. Remove one of both rows."
            )
    return name or NAMES[0], answers


def _rows(path: Path) -> Iterator[Row]:
    if path.suffix == ".parquet":
        with open_parquet(path) as file:
            yield from file.read().to_pylist()
        return
    try:
        # newline="": the reader splits rows itself, as a quoted field may hold line breaks
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = json.load(file) if path.suffix == ".json" else [*csv.DictReader(file)]
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}. Write it again.") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            f"{path}: is not a list of objects. Write one object per image: uid and {ANSWER}."
        )
    yield from ({str(name): value for name, value in row.items()} for row in rows)
