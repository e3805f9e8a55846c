"""Reads given files of embeddings: arrays, and Parquet whose rows identify theirs.

Row n of an array belongs to row n of its Parquet file. Opening checks that both have as many rows,
and that arrays are floating-point matrices of one width. Rows of a length other than one are scaled
and counted.
"""

import contextlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Bool, Float32, Float64, Int64

from clipaudit.corpora.listing import open_parquet
from clipaudit.errors import InputError
from clipaudit.plaintext import plain

form: Any = np.lib.format  # it has no types
UNIT_TOLERANCE = 0.01  # of a row's norm; float16 rounds that of a unit row by less than 0.001

Places = Int64[np.ndarray, " n"]


class EmbeddingFiles:
    """Arrays of embeddings, each with the Parquet file whose rows identify its rows."""

    def __init__(
        self, pairs: Sequence[tuple[Path, Path]], *, column: str, array: str | None = None
    ) -> None:
        """Open the arrays; `array` names one of those in `.npz` files.

        Raise InputError unless all are matrices of floating-point numbers of one width, and each
        has as many rows as its metadata.
        """
        self.column = column
        self.pairs = list(pairs)
        self._array = array
        self._held = (-1, np.empty((0, 0)))  # the array read last, and its number
        self.rows: list[int] = []
        self._read, self._scaled, self._range = 0, 0, (np.inf, 0.0)
        widths: dict[int, Path] = {}
        for path, metadata in self.pairs:
            shape, dtype = _array_header(path, array)
            if len(shape) != 2 or dtype not in (np.float16, np.float32, np.float64):
                raise InputError(
                    f"{path}: an array of shape {shape} and type {dtype}, expected one "
                    "floating-point row per sample. Name the image embeddings."
                )
            count = _rows_of(metadata, column)
            if count != shape[0]:
                raise InputError(
                    f"{path}: {shape[0]} embeddings but {count} rows in {metadata}. They are "
                    "matched by position: compute this file again, or drop both."
                )
            widths.setdefault(shape[1], path)
            self.rows.append(count)
        if len(widths) > 1:
            (one, first), (other, second) = list(widths.items())[:2]
            raise InputError(
                f"{first}: rows of {one} numbers, but {second} has {other}: two models. Name the "
                "files of one."
            )
        self.dimension = next(iter(widths))

    @property
    def first_value(self) -> str:
        """Return the column's first value in the first file, for a message; "" if it is empty."""
        with pq.ParquetFile(self.pairs[0][1]) as file:
            batch = next(file.iter_batches(1, columns=[self.column]), None)
            return "" if batch is None or not len(batch) else str(batch[0][0].as_py())

    def find(self, wanted: pa.Array) -> tuple[Places, Places]:
        """Return the file and the row of each wanted value; -1 if none has it.

        Raise InputError for a wanted value in two rows, as it is ambiguous.
        """
        files, rows = (np.full(len(wanted), -1, np.int64) for _ in range(2))
        known = wanted.drop_null()
        if not len(known):
            return files, rows
        bounds = pc.min_max(known).as_py()
        for number, (_, metadata) in enumerate(self.pairs):
            for start, values in _groups(metadata, self.column, bounds["min"], bounds["max"]):
                found = pc.index_in(values, value_set=wanted, skip_nulls=True)
                at = np.flatnonzero(np.asarray(found.is_valid()))
                places = np.asarray(found.drop_null()).astype(np.int64)
                twice = np.flatnonzero((files[places] >= 0) | _repeated(places))
                if len(twice):
                    value = plain(str(wanted[int(places[twice[0]])])[:200])
                    raise InputError(
                        f"{metadata}: {len(twice)} samples have two embeddings, first "
                        f"{self.column} {value!r}. Join on a column whose values are unique, or "
                        "drop a copy."
                    )
                files[places], rows[places] = number, start + at
        return files, rows

    def read(self, files: Places, rows: Places) -> Float32[np.ndarray, "n d"]:
        """Return rows of the arrays, scaled to length one.

        Rows of zeros, and rows that are not finite, are returned unchanged.
        """
        features = np.empty((len(files), self.dimension), np.float32)
        for number in np.unique(files):
            path, _ = self.pairs[number]
            here = files == number
            if number != self._held[0]:
                self._held = (int(number), _read_array(path, self._array))
            features[here] = self._unit(self._held[1][rows[here]].astype(np.float64))
        return features

    @property
    def lengths(self) -> str:
        """Return how many of the rows read so far had a length other than one, and which."""
        if not self._scaled:
            return f"{self._read:,} rows are of unit length"
        low, high = self._range
        return (
            f"{self._scaled:,} of {self._read:,} rows have a length of {low:.3g} to {high:.3g}: "
            "they are scaled to unit length"
        )

    def _unit(self, found: Float64[np.ndarray, "n d"]) -> Float32[np.ndarray, "n d"]:
        with np.errstate(all="ignore"):  # too large for float32: infinite, then dropped
            norms = np.linalg.norm(found, axis=1)
            scaled = np.isfinite(norms) & (norms > 0) & (np.abs(norms - 1) > UNIT_TOLERANCE)
            found[scaled] /= norms[scaled, None]
            features = found.astype(np.float32)
        self._read += len(found)
        if scaled.any():
            self._scaled += int(scaled.sum())
            low, high = self._range
            self._range = min(low, norms[scaled].min()), max(high, norms[scaled].max())
        return features


def _groups(path: Path, column: str, low: str, high: str) -> Iterator[tuple[int, pa.Array]]:
    """Yield the row groups of a column that may have texts in `low` to `high`, with their place.

    Keys that number shards ascend, so a part's job reads few of a large corpus's groups.
    """
    start = 0
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            held = file.metadata.row_group(group)
            if not _outside(held, column, low, high):
                texts = file.read_row_group(group, columns=[column])[column]
                try:
                    yield start, texts.cast(pa.string()).combine_chunks()
                except pa.ArrowException as error:
                    raise InputError(
                        f"{path}: column {column!r} of type {texts.type} is not text: {error}. "
                        "Name another."
                    ) from error
            start += held.num_rows


def _outside(group: pq.RowGroupMetaData, column: str, low: str, high: str) -> bool:
    """Return whether the statistics of a row group exclude texts in `low` to `high`."""
    for number in range(group.num_columns):
        chunk = group.column(number)
        if chunk.path_in_schema == column and chunk.is_stats_set and chunk.statistics.has_min_max:
            least, most = chunk.statistics.min, chunk.statistics.max
            return isinstance(least, str) and (most < low or least > high)
    return False


def _repeated(places: Places) -> Bool[np.ndarray, " n"]:
    """Return which places repeat an earlier one in the list."""
    first = np.unique(places, return_index=True)[1]
    repeated = np.ones(len(places), bool)
    repeated[first] = False
    return repeated


def _rows_of(path: Path, column: str) -> int:
    file = open_parquet(path)
    if column not in file.schema_arrow.names:
        has = ", ".join(plain(name) for name in file.schema_arrow.names)
        raise InputError(f"{path}: no column {column!r}, but {has}. Name one of them.")
    return int(file.metadata.num_rows)


# --- arrays of NumPy's: opened without pickles --------------------------------------------------


def _array_header(path: Path, array: str | None) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and type of an array, `.npy` or one of a `.npz`, without reading it."""
    with _reading(path), contextlib.ExitStack() as opened:
        if array is None:
            file: IO[bytes] = opened.enter_context(path.open("rb"))
        else:
            held = opened.enter_context(zipfile.ZipFile(path))
            if f"{array}.npy" not in held.namelist():
                names = ", ".join(name.removesuffix(".npy") for name in held.namelist())
                raise InputError(
                    f"{path}: no array {array!r}, but {plain(names)}. Name one of them."
                )
            file = opened.enter_context(held.open(f"{array}.npy"))
        newer = form.read_magic(file) > (1, 0)
        read = form.read_array_header_2_0 if newer else form.read_array_header_1_0
        shape, _, dtype = read(file)
    return shape, dtype


def _read_array(path: Path, array: str | None) -> np.ndarray:
    """Return an array: mapped from its file, or read whole from a `.npz`."""
    with _reading(path):
        if array is None:
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
        with np.load(path, allow_pickle=False) as held:
            return np.asarray(held[array])


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        what = str(error).rstrip(".")
        raise InputError(f"{path}: cannot be read as an array: {what}. Fetch it again.") from error
