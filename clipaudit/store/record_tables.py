"""Read lineage records as tables, from loose and packed files, by key or in SQL.

A packed file holds the executions of all actions whose keys share a prefix; see
clipaudit.store.packing. Read loose files first and packed ones afterwards to miss none; a record in
both counts once.
"""

import contextlib
import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.errors import StoreError
from clipaudit.plaindata import Json
from clipaudit.store.records import is_record_name
from clipaudit.store.store import Store

_TEXTS = pa.map_(pa.string(), pa.string())
_OUTPUT = pa.struct(
    {
        "name": pa.string(),
        "digest": pa.string(),
        "schema": pa.string(),
        "rows": pa.int64(),
        "bytes": pa.int64(),
    }
)
_INPUT = pa.struct(
    {"name": pa.string(), "path": pa.string(), "digest": pa.string(), "action": pa.string()}
)
_COLUMNS = {  # with DuckDB's comments on them
    "action": (pa.string(), "key of the action: SHA-256 of its ingredients, hex"),
    "name": (pa.string(), "file that held the record: start and process of the execution"),
    "step": (pa.string(), "rule of the workflow"),
    "code": (pa.string(), "code digest: SHA-256, hex"),
    "started": (pa.string(), "start of the execution: UTC, ISO 8601"),
    "seconds": (pa.float64(), "wall-clock time of the execution, s"),
    "threads": (pa.int32(), "threads that the job was given"),
    "peak_memory_mb": (pa.int64(), "most memory that the process or a child held, MiB"),
    "host": (pa.string(), "machine that it ran on"),
    "wildcards": (_TEXTS, "wildcards of the job: corpus, part, model ..."),
    "outputs": (pa.list_(_OUTPUT), "the objects that it gave: digest SHA-256, hex"),
    "inputs": (pa.list_(_INPUT), "the files that it read, and the actions that made them"),
    "environment": (_TEXTS, "device and library versions that affect a numeric step"),
    "record": (pa.binary(), "the whole record: JSON"),
    "share": (pa.float64(), "share of the work that it did, 0 to 1; null in old packed records"),
}
SCHEMA = pa.schema([pa.field(name, kind) for name, (kind, _) in _COLUMNS.items()])
COMMENTS = {name: comment for name, (_, comment) in _COLUMNS.items()}
_LOOKED_UP = ["action", "name", "record"]
_FILES_AT_ONCE = 4
_ROWS_HELD = 256  # as Python objects, which take ten times the memory of a table


# --- loose files -------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class LooseFile:
    """A loose record: its action, its name in the action's folder, and its path."""

    action: str
    name: str
    path: Path


def loose_folders(store: Store) -> list[Path]:
    """Return the folders of loose records, one for each first two hex digits of keys."""
    folder = store.root / "lineage"
    return sorted(path for path in folder.glob("[0-9a-f][0-9a-f]") if path.is_dir())


def loose_files(folder: Path) -> list[LooseFile]:
    """Return the loose records of one of `loose_folders`, in the order of a packed file."""
    return sorted(
        LooseFile(folder.name + action.name, name, Path(action.path, name))
        for action in os.scandir(folder)
        if action.is_dir()
        for name in _names(action.path)
    )


def _names(folder: str) -> list[str]:
    with contextlib.suppress(FileNotFoundError):  # a packer emptied it after it was listed
        return [name for name in os.listdir(folder) if is_record_name(name)]
    return []


@dataclass
class LooseRows:
    """Loose records as a table, the files of its rows, and the faults of other files."""

    table: pa.Table
    files: list[LooseFile]
    faults: list[str]


def read_loose(files: Iterable[LooseFile]) -> LooseRows:
    """Read loose records, in order; skip one that a packer took after it was listed."""
    tables, rows = [SCHEMA.empty_table()], []
    read, faults = [], []
    for file in files:
        try:
            fields = json.loads(file.path.read_bytes())
            rows.append(record_row(file.action, file.name, fields))
        except FileNotFoundError:
            continue
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            faults.append(f"{file.path}: not a lineage record ({error!r}). Remove it.")
            continue
        read.append(file)
        if len(rows) == _ROWS_HELD:
            tables.append(pa.Table.from_pylist(rows, schema=SCHEMA))
            rows = []
    tables.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    return LooseRows(pa.concat_tables(tables), read, faults)


def record_row(action: str, name: str, fields: Json) -> dict[str, Any]:
    """Return the row of SCHEMA for a record's JSON fields."""
    ingredients, execution = fields["ingredients"], fields["execution"]
    return {
        "action": action,
        "name": name,
        "step": ingredients["step"],
        "code": ingredients["code"],
        "started": execution["started"],
        "seconds": execution["seconds"],
        "threads": execution["threads"],
        "peak_memory_mb": execution["peak_memory_mb"],
        "host": execution["host"],
        "wildcards": _pairs(fields["wildcards"]),
        "outputs": [
            {"name": _unicode(output), **given["pointer"]}
            for output, given in fields["outputs"].items()
        ],
        "inputs": [
            {**file, "name": _unicode(group), "path": _unicode(file["path"])}
            for group, files in ingredients["inputs"].items()
            for file in files
        ],
        "environment": _pairs(ingredients["environment"]),
        "record": json.dumps(fields, sort_keys=True, separators=(",", ":")).encode(),
        "share": execution.get("share", 1.0),
    }


def _pairs(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(_unicode(name), _unicode(value)) for name, value in texts.items()]


def _unicode(text: str) -> str:
    r"""Return a text without lone surrogates, which Python uses for file names not in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


# --- packed files ------------------------------------------------------------------------------


def packed_folder(store: Store) -> Path:
    """Return the folder of packed files, which may not exist."""
    return store.root / "lineage" / "packed"


@contextlib.contextmanager
def open_packed(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a packed file; raise FileNotFoundError if there is none, StoreError if it is altered."""
    try:
        with pa.OSFile(str(path)) as source:
            status = os.fstat(source.fileno())  # of the opened file, which may be replaced by now
            key = (status.st_dev, status.st_ino, status.st_mtime_ns)
            with pq.ParquetFile(source, metadata=_FOOTERS.get(key)) as file:
                if len(_FOOTERS) >= _MOST_FOOTERS:
                    _FOOTERS.clear()
                _FOOTERS[key] = file.metadata
                yield file
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise StoreError(
            f"{path}: cannot be read ({error}). Restore it from a copy, or remove it: its actions "
            "are recorded when they are next computed."
        ) from error


_FOOTERS: dict[tuple[int, int, int], pq.FileMetaData] = {}  # a walk opens each file per level
_MOST_FOOTERS = 1024  # enough for four stores, some 40 MB


def packed_texts(store: Store, keys: Iterable[str]) -> dict[str, tuple[str, bytes]]:
    """Return name and JSON text of the last packed execution of each action that has one.

    Each packed file is opened once, a few at a time; only row groups that may hold a key are read,
    one after another.
    """
    asked = [
        (packed_folder(store) / f"{prefix}.parquet", list(wanted))
        for prefix, wanted in groupby(sorted(set(keys)), key=lambda key: key[:2])
    ]
    found: dict[str, tuple[str, bytes]] = {}
    with ThreadPoolExecutor(_FILES_AT_ONCE) as threads:  # Parquet's decoding releases the GIL
        for texts in threads.map(lambda each: _last_texts(*each), asked):
            found.update(texts)
    return found


def _last_texts(path: Path, keys: Sequence[str]) -> dict[str, tuple[str, bytes]]:
    found: dict[str, tuple[str, bytes]] = {}
    with contextlib.suppress(FileNotFoundError), open_packed(path) as file:
        for number in range(file.num_row_groups):
            bounds = file.metadata.row_group(number).column(0).statistics
            asked = keys[bisect_left(keys, bounds.min) : bisect_right(keys, bounds.max)]
            if asked:
                # one thread: three short columns are not worth more
                rows = file.read_row_group(number, _LOOKED_UP, use_threads=False)
                found.update(_last_of(rows, asked))
    return found


def _last_of(rows: pa.Table, keys: Sequence[str]) -> Iterator[tuple[str, tuple[str, bytes]]]:
    """Yield the keys that occur, each with the name and text of its last row."""
    actions = rows["action"].to_pylist()
    for key in keys:
        place = bisect_right(actions, key) - 1
        if place >= 0 and actions[place] == key:
            yield key, (rows["name"][place].as_py(), rows["record"][place].as_py())
