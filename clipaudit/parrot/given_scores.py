"""Sort given scores into the order of the samples, reading each file once."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.listing import open_parquet
from clipaudit.corpora.sorted_rows import GivenFiles, JoinOn, sorted_rows
from clipaudit.errors import InputError
from clipaudit.parrot.curation_parts import AESTHETICS
from clipaudit.plaintext import plain

SETTING = "parrot.curations.filter_scores"
_SCORE = {"aesthetics": pa.float64()}
_ROWS_AT_ONCE = 65_536  # memory, never results


def sort_scores(
    samples: Iterable[pa.Table],
    files: Sequence[Path],
    *,
    column: str,
    score: str,
    join_on: JoinOn,
) -> Iterator[pa.Table]:
    """Yield the AESTHETICS from Parquet files for the `samples` of all parts, by (shard, row).

    A row has `column`, which identifies the sample, and `score`, a number; a null or non-finite
    score counts as none. Samples without a row are not in the result. Repeated rows count once.

    Memory is that of `sorted_rows`. Raises InputError for a file that cannot be read, lacks a
    column or has other values in it, if no sample has a row, and for unequal scores of a sample;
    StoreError if the temporary folder has no room.
    """
    given = GivenFiles(files, column, join_on, SETTING)

    def rows_of(path: Path, scores: bool) -> Iterator[pa.Table]:
        return _rows_of(path, column, score if scores else None)

    for table in sorted_rows(samples, given, rows_of, _SCORE):
        yield _each_once(table, given)


def _each_once(rows: pa.Table, given: GivenFiles) -> pa.Table:
    repeated = np.diff(sample_addresses(rows), prepend=-1) == 0
    scores = rows["aesthetics"].to_pylist()
    for at in np.flatnonzero(repeated).tolist():
        if scores[at] != scores[at - 1]:
            one, other = (rows.slice(each, 1).to_pylist()[0] for each in (at - 1, at))
            raise InputError(
                f"{given.files[other['file']]}: {given.column} {plain(other['value'])!r} scores "
                f"{other['aesthetics']}, and in {given.files[one['file']]} {one['aesthetics']}. "
                "Remove one of these rows."
            )
    return rows.filter(pa.array(~repeated)).select(AESTHETICS.names).cast(AESTHETICS)


def _rows_of(path: Path, column: str, score: str | None) -> Iterator[pa.Table]:
    """Yield the rows of a file: `value`, and the number of `score` if named."""
    wanted = [column] if score is None else [column, score]
    with open_parquet(path) as file:
        has = file.schema_arrow.names
        for name in wanted:
            if name not in has:
                raise InputError(
                    f"{path}: no column {name!r}, but {', '.join(map(plain, has))}. Name one of "
                    f"them in {SETTING}."
                )
        try:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(dict.fromkeys(wanted))):
                columns = {"value": _cast(batch[column], pa.string(), path, column)}
                if score is not None:
                    numbers = _cast(batch[score], pa.float64(), path, score)
                    finite = pc.is_finite(numbers)
                    columns["aesthetics"] = pc.if_else(
                        finite, numbers, pa.scalar(None, pa.float64())
                    )
                yield pa.table(columns)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read: {error}. Write it again.") from error


def _cast(values: pa.Array, form: pa.DataType, path: Path, column: str) -> pa.Array:
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    textual = any(is_kind(values.type) for is_kind in kinds)
    floating = pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)
    if not (pa.types.is_integer(values.type) or (textual if form == pa.string() else floating)):
        wanted = "numbers" if form == pa.float64() else "texts or whole numbers"
        raise InputError(f"{path}: column {column!r} is {values.type}; give {wanted}.")
    try:
        return values.cast(form)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"{path}: column {column!r} does not fit into {form}: {error}. Write it as {form}."
        ) from error
