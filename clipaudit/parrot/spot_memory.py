"""A cache of spotted text by the bytes of the image: a folder of immutable Parquet files.

    <folder>/<sha256>.parquet   images and their spans, ordered by image, named by content
    <folder>/*.unfinished       temporary files that a killed job may leave; they are never read

A folder holds the results of one recipe: a spotter's settings and version, and the environment if
its numbers depend on it. Any number of jobs may read and write it together: at worst two of them
read one image twice, with the same result.
"""

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clipaudit.parrot.spans import SPAN_LIST, Span, span_array, spans_of
from clipaudit.store.store import file_sha256

REMEMBERED = pa.schema(
    [
        pa.field("image_sha256", pa.binary(32), nullable=False),  # ascending
        pa.field("spans", SPAN_LIST, nullable=False),
    ]
)
_DIGEST = "image_sha256"
_GROUP_ROWS = 4096  # of a row group, the least that is read
_HELD_PICTURES = 1000  # images read before a file is written: a kill loses a minute's work
_BROKEN = (OSError, pa.ArrowException)  # what a file that cannot be read raises

Place = tuple[Path, int]  # a row of a file of the memory

_log = logging.getLogger(__name__)


def memory_folder(root: Path, recipe: Mapping[str, object]) -> Path:
    """Return the folder below `root` for the results of this recipe, given as JSON values.

    >>> memory_folder(Path("spotted"), {"spotter": "none", "version": 1}).as_posix()
    'spotted/159874c19b5d4c01'
    """
    text = json.dumps(dict(recipe), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return root / hashlib.sha256(text.encode()).hexdigest()[:16]


class SpotMemory:
    """The spans of images, found by the SHA-256 of their bytes in hex.

    A file that cannot be read, or whose content is not that of its name, is named in the log, stays
    in place, and counts as absent.
    """

    def __init__(self, folder: Path, *, held: int = _HELD_PICTURES) -> None:
        """Open the memory in `folder`, created at the first write, with `held` images per file."""
        self.folder = folder
        self._held = held
        self._waiting: dict[bytes, list[Span]] = {}
        self._sound: set[Path] = set()  # files whose content was checked
        self._own: list[Path] = []  # files of this process, until they are joined

    # --- reading -------------------------------------------------------------------------------

    def locate(self, digests: set[str]) -> dict[str, Place]:
        """Return the places of known images, reading the column of digests of every file.

        If two files have an image, the first by name counts that is not damaged.
        """
        if not digests:
            return {}
        wanted = pa.array(sorted(map(bytes.fromhex, digests)), pa.binary(32))
        found: dict[str, Place] = {}
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                column = _read(path, [_DIGEST])[_DIGEST]
            except FileNotFoundError:
                continue  # its writer has just joined it to another
            except _BROKEN as error:
                _warn(path, error)
                continue
            rows = np.flatnonzero(pc.is_in(column, wanted).to_numpy())
            if len(rows) and not self._is_sound(path):
                continue
            for row, digest in zip(rows.tolist(), column.take(rows).to_pylist(), strict=True):
                found.setdefault(digest.hex(), (path, row))
        return found

    def _is_sound(self, path: Path) -> bool:
        """Return whether a file has the content of its name, reading it once."""
        if path not in self._sound:
            try:
                digest = file_sha256(path)
            except FileNotFoundError:
                return False  # its writer has just joined it to another
            except OSError as error:
                _warn(path, error)
                return False
            if digest != path.stem:
                _warn(path, f"its SHA-256 is {digest}")
                return False
            self._sound.add(path)
        return True

    def read(self, places: Mapping[str, Place]) -> dict[str, list[Span]]:
        """Return the spans at those places that can still be read."""
        rows: dict[Path, list[tuple[int, str]]] = {}
        for digest, (path, row) in places.items():
            rows.setdefault(path, []).append((row, digest))
        found: dict[str, list[Span]] = {}
        for path in sorted(rows):
            try:
                found |= dict(_rows_of(path, sorted(rows[path])))
            except FileNotFoundError:
                continue
            except _BROKEN as error:
                self._sound.discard(path)  # damaged since: `locate` looks for another
                _warn(path, error)
        return found

    # --- writing -------------------------------------------------------------------------------

    def add(self, digest: str, spans: Sequence[Span]) -> None:
        """Remember an image; it is on disk after the next `held` images or `flush`."""
        self._waiting[bytes.fromhex(digest)] = list(spans)
        if len(self._waiting) >= self._held:
            self.flush()

    def flush(self) -> None:
        """Write the pending images."""
        if self._waiting:
            keys = list(self._waiting)
            spans = span_array(self._waiting.values())
            table = pa.table([pa.array(keys, pa.binary(32)), spans], schema=REMEMBERED)
            self._own.append(self._write(table))
            self._waiting.clear()

    def settle(self) -> None:
        """Write the pending images, and join this process's files, so that others open fewer."""
        self.flush()
        if len(self._own) > 1:
            try:
                tables = [_read(path, REMEMBERED.names) for path in self._own]
            except _BROKEN as error:
                _log.warning("%s: files are not joined (%s)", self.folder, error)
                return
            whole = self._write(pa.concat_tables(tables))
            for path in self._own:
                if path != whole:
                    path.unlink(missing_ok=True)
        self._own.clear()

    def _write(self, table: pa.Table) -> Path:
        """Write a file whole or not at all, and return its path, named by content."""
        table = table.sort_by(_DIGEST).combine_chunks()
        # tables that were read carry field numbers, which would be written again
        columns = [column.cast(field.type) for column, field in zip(table, REMEMBERED, strict=True)]
        table = pa.table(columns, schema=REMEMBERED)
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".unfinished")
        os.close(handle)
        spare = Path(name)
        try:
            pq.write_table(
                table,
                spare,
                row_group_size=_GROUP_ROWS,
                compression="zstd",
                use_dictionary=False,
                write_page_checksum=True,
            )
            path = self.folder / f"{file_sha256(spare)}.parquet"
            os.chmod(spare, 0o444)
            _flush_to_disk(spare)
            os.replace(spare, path)
            _flush_to_disk(self.folder)
        finally:
            spare.unlink(missing_ok=True)
        return path


def _rows_of(path: Path, wanted: Sequence[tuple[int, str]]) -> Iterator[tuple[str, list[Span]]]:
    """Yield the spans at ascending rows of a file, by their digests."""
    by_group: dict[int, list[tuple[int, str]]] = {}
    for row, digest in wanted:
        by_group.setdefault(row // _GROUP_ROWS, []).append((row % _GROUP_ROWS, digest))
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for group, rows in by_group.items():
            table = file.read_row_group(group, columns=["spans"])
            taken = table.take([row for row, _ in rows])
            yield from zip((digest for _, digest in rows), spans_of(taken), strict=True)


def _read(path: Path, columns: Iterable[str]) -> pa.Table:
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        if not file.schema_arrow.equals(REMEMBERED):
            raise pa.ArrowInvalid("its columns are not those of a memory")
        return file.read(columns=list(columns))


def _warn(path: Path, fault: BaseException | str) -> None:
    _log.warning("%s: cannot be read, its images are spotted again (%s)", path, fault)


def _flush_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
