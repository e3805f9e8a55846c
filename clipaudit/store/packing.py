"""Pack the small files of a store's lineage records into at most 256 Parquet files.

    store/lineage/packed/ab.parquet   all packed executions of the actions `ab...`, by action and
        name; clipaudit.store.record_tables has the columns
    store/lineage/packing.lock        held by the one process that packs

Steps always write loose files (clipaudit.store.records). `pack` writes a new packed file from the
old one and the loose ones, flushes it, replaces the old one, and only then removes the loose files
that it read. If it is killed, each record is still loose, packed or both.
"""

import contextlib
import fcntl
import logging
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.errors import InputError, StoreError
from clipaudit.store.outputs import replaced
from clipaudit.store.parquet import in_groups
from clipaudit.store.record_tables import (
    COMMENTS,
    SCHEMA,
    loose_files,
    loose_folders,
    open_packed,
    packed_folder,
    read_loose,
)
from clipaudit.store.store import Store, flush

if TYPE_CHECKING:
    import duckdb

logger = logging.getLogger(__name__)

MANY_LOOSE = 10_000  # actions with loose records that `keep_packed` tolerates
ROWS_PER_GROUP = 256  # read to find one record: some 0.5 MB of JSON
_WRITER = {
    "version": "2.6",
    "compression": "zstd",
    "use_dictionary": ["step", "code", "host"],
    "write_statistics": ["action"],  # the looked-up column; statistics of long JSON would be long
    "store_schema": True,
}


@dataclass
class Packed:
    """The result of packing: the records packed, and the packed files written for them."""

    records: int = 0
    loose_bytes: int = 0
    files: int = 0
    bytes: int = 0
    faults: list[str] = field(default_factory=list)  # loose files that are not records; they stay


def pack(store: Store) -> Packed:
    """Move all loose records into packed files; steps and readers may run meanwhile.

    It holds the loose records of one packed file at a time, whatever was packed before. Raise
    InputError while another process packs, StoreError if the store's disk does not support locks.
    """
    done = Packed()
    folder = packed_folder(store)
    if not folder.parent.is_dir():
        return done  # nothing was ever recorded; create no folder, since the path may be wrong
    with _only_packer(store):
        folder.mkdir(exist_ok=True)
        for unfinished in folder.glob(".*"):  # from a killed packer
            unfinished.unlink()
        for loose in loose_folders(store):
            _pack_folder(loose, folder / f"{loose.name}.parquet", done)
    return done


def keep_packed(store: Store, many: int = MANY_LOOSE) -> Packed | None:
    """Pack if more than `many` actions have loose records; return None if nothing was done.

    If another process packs, or the disk has no locks, log a line instead of raising.
    """
    if loose_count(store, many + 1) <= many:
        return None
    try:
        done = pack(store)
    except (InputError, StoreError) as error:
        logger.warning("Lineage records stay loose. %s", error)
        return None
    for fault in done.faults:
        logger.warning("%s", fault)
    return done


def loose_count(store: Store, limit: int) -> int:
    """Return how many actions have loose records, at most `limit`, with some 256 listings.

    An action that was executed twice counts once.
    """
    found = 0
    for folder in loose_folders(store):
        found += len(os.listdir(folder))
        if found >= limit:
            return limit
    return found


@contextlib.contextmanager
def _only_packer(store: Store) -> Iterator[None]:
    path = store.root / "lineage" / "packing.lock"
    with path.open("w") as file:  # never removed: a lock on a removed file excludes nobody
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{path}: another process is packing this store's records. Wait until it is done."
            ) from error
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be locked ({error}), and two packers at the same time might lose "
                "records. Run `clipaudit compact` on the machine that the disk belongs to."
            ) from error
        yield


# --- one packed file ---------------------------------------------------------------------------


def _pack_folder(folder: Path, target: Path, done: Packed) -> None:
    """Merge loose records into their packed file, then remove those that were read."""
    loose = read_loose(loose_files(folder))
    done.faults += loose.faults
    if not loose.files:
        return
    write_packed(_merged(target, loose.table), target)
    done.records += len(loose.files)
    done.loose_bytes += sum(file.path.stat().st_size for file in loose.files)
    done.files += 1
    done.bytes += target.stat().st_size
    for action, files in groupby(loose.files, key=lambda file: file.path.parent):
        for file in files:
            file.path.unlink()
        with contextlib.suppress(OSError):  # another process writes into it
            action.rmdir()


def write_packed(tables: Iterable[pa.Table], target: Path) -> None:
    """Write rows of SCHEMA, by action and name, as a packed file, flushed to disk, or not at all.

    Raise StoreError if another process replaced the file during the write.
    """
    before = _identity(target)
    with replaced(target) as path, path.open("wb") as file:
        with pq.ParquetWriter(file, SCHEMA, **_WRITER) as writer:
            for group in in_groups(
                tables, ROWS_PER_GROUP
            ):  # no small groups after repeated packing
                writer.write_table(group, row_group_size=ROWS_PER_GROUP)
        file.flush()
        os.fsync(file.fileno())
        if _identity(target) != before:
            raise StoreError(
                f"{target}: another process packed at the same time, so this disk does not support "
                "locks. Nothing is lost. Run `clipaudit compact` again, once."
            )
    flush(target.parent)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _merged(target: Path, loose: pa.Table) -> Iterator[pa.Table]:
    """Yield the merged rows of a packed file, one row group at a time, and of `loose`."""
    keys = _keys(loose)
    start = 0
    for packed in _row_groups(target):
        stop = bisect_right(keys, _keys(packed.slice(packed.num_rows - 1))[0])
        yield _united(packed, loose.slice(start, stop - start))
        start = stop
    yield loose.slice(start)


def _united(packed: pa.Table, loose: pa.Table) -> pa.Table:
    if loose.num_rows == 0:
        return packed
    again = set(_keys(loose))  # also packed, if a packer was killed before it removed them
    kept = packed.filter(pa.array([key not in again for key in _keys(packed)]))
    order = [("action", "ascending"), ("name", "ascending")]
    return pa.concat_tables([kept, loose]).sort_by(order)


def _keys(table: pa.Table) -> list[tuple[str, str]]:
    return list(zip(table["action"].to_pylist(), table["name"].to_pylist(), strict=True))


def _row_groups(path: Path) -> Iterator[pa.Table]:
    with contextlib.suppress(FileNotFoundError), open_packed(path) as file:
        for number in range(file.num_row_groups):
            group = file.read_row_group(number)
            # an older file lacks the last columns
            yield pa.concat_tables([SCHEMA.empty_table(), group], promote_options="default")


# --- SQL over all records ----------------------------------------------------------------------


def register_records(connection: "duckdb.DuckDBPyConnection", store: Store) -> None:
    """Give a connection the view `records`, with one row per execution, loose or packed.

    Its columns are those of SCHEMA except `record`, each with a comment on its meaning and unit:
    `from duckdb_columns()`. It has no rows if nothing is recorded.
    """
    names = [name for name in SCHEMA.names if name != "record"]
    # loose first: records that a packer moves meanwhile are then in the packed files, or in both
    loose = read_loose(file for folder in loose_folders(store) for file in loose_files(folder))
    for fault in loose.faults:
        logger.warning("%s", fault)
    connection.register("loose_rows", loose.table.select(names))
    connection.execute("create or replace temp table loose_records as from loose_rows")
    connection.unregister("loose_rows")
    query = "from loose_records"
    packed = sorted(packed_folder(store).glob("[0-9a-f][0-9a-f].parquet"))
    if packed:
        files = ", ".join(_quote(str(path.absolute())) for path in packed)
        query += (
            f" union all by name from read_parquet([{files}], union_by_name = true) "
            "anti join loose_records using (action, name)"
        )
    query = f"select {', '.join(names)} from ({query})"
    connection.execute(f"create or replace temp view records as {query}")
    for name in names:
        connection.execute(f"comment on column records.{name} is {_quote(COMMENTS[name])}")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
