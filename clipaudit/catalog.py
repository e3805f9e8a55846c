"""The catalog: results/audit.duckdb, with every table of a run as a view.

A view is named after the stage and unites the Parquet objects of all its pointers; the labels of
each file (corpus, part, model, test set ...) become columns in front. Views hold absolute paths,
so the file works from any folder; it is replaced by rename and holds no data itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb.func import ARROW

from clipaudit.errors import InputError, StoreError
from clipaudit.lineage.placements import placements
from clipaudit.lineage.records import Record
from clipaudit.reports.comments import column_comments
from clipaudit.store import Pointer, Store

CATALOG = "audit.duckdb"
EXECUTIONS_TABLE = (
    "create table executions (action varchar, step varchar, started varchar, seconds double, "
    "peak_memory_mb bigint, threads int, host varchar)"
)
EPOCHS_TABLE = "create table epochs (recipe varchar, manifest varchar, epoch int, seconds double)"
FILES_TABLE = "create table files (view varchar, path varchar, labels map(varchar, varchar))"


@dataclass(frozen=True)
class CatalogFile:
    """One Parquet object of a view, and the labels that become columns."""

    view: str
    path: Path
    labels: Mapping[str, str]


def catalog_files(results: Path, store: Store, actions: Mapping[str, Record]) -> list[CatalogFile]:
    """Return the Parquet objects that these actions put below `results`, in path order.

    `actions` are lineage records by key. An object that is missing is left out: `clipaudit
    verify` tells of it.
    """
    files = []
    for path, placement in placements(results).items():
        if placement.action not in actions or not path.with_suffix(".parquet").is_symlink():
            continue
        pointer = Pointer.read(path)
        if store.has(pointer.digest):
            inside = path.relative_to(results)
            tables = inside.parts[0] == "tables"
            view = inside.stem if tables else _view(inside, placement.labels)
            place = store.path(pointer.digest).absolute()
            files.append(CatalogFile(view, place, placement.labels))
    return files


def _view(inside: Path, labels: Mapping[str, str]) -> str:
    """Name the view of a pointer: its stage; `drops_index`; `neighbors_merged` over all parts."""
    stage = inside.parts[0]
    if stage == "drops":
        return f"drops_{inside.parts[1]}"
    return "neighbors_merged" if stage == "neighbors" and "part" not in labels else stage


def write_catalog(files: Iterable[CatalogFile], actions: Mapping[str, Record], path: Path) -> None:
    """Write a DuckDB file with a view for each name among `files`, and what the actions cost.

    The tables `executions` and `epochs` say how long each action and each epoch of a training
    took when it was computed: on which machine, not necessarily in this run. Columns of report
    tables bear the comments of their SQL: `from duckdb_columns()`.
    """
    groups: dict[str, list[CatalogFile]] = {}
    for file in files:
        groups.setdefault(file.view, []).append(file)
    with duckdb.connect(str(path)) as connection:
        connection.execute(FILES_TABLE)
        for view, members in sorted(groups.items()):
            connection.executemany(
                "insert into files values (?, ?, ?)",
                [(view, str(file.path), dict(file.labels)) for file in members],
            )
            connection.execute(_view_sql(view, members))
            _comment(connection, view, _own_columns(members[0]))
        connection.execute(EXECUTIONS_TABLE)
        rows = [_execution(key, record) for key, record in sorted(actions.items())]
        if rows:
            connection.executemany("insert into executions values (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute(EPOCHS_TABLE)
        epochs = [row for record in actions.values() for row in _epochs(record)]
        if epochs:
            connection.executemany("insert into epochs values (?, ?, ?, ?)", sorted(epochs))


def _comment(connection: duckdb.DuckDBPyConnection, view: str, columns: set[str]) -> None:
    for column, comment in column_comments(view).items():
        if column in columns:  # a table of an older run may lack one
            place = f"{_identifier(view)}.{_identifier(column)}"
            connection.execute(f"comment on column {place} is {_quote(comment)}")


def _execution(key: str, record: Record) -> tuple[object, ...]:
    ran, step = record.execution, record.ingredients.step
    return key, step, ran.started, ran.seconds, ran.peak_memory_mb, ran.threads, ran.host


def _epochs(record: Record) -> Iterator[tuple[str, str, int, float]]:
    """Yield recipe, manifest, epoch and its seconds, the start of the process in the first."""
    before = 0.0
    written = record.execution.written
    for output in sorted(written, key=lambda name: float(written[name])):
        epoch = record.outputs[output].labels.get("epoch")
        if epoch is not None:
            labels = record.wildcards
            yield (
                labels["recipe"],
                labels["manifest"],
                int(epoch),
                round(written[output] - before, 3),
            )
            before = written[output]


def _view_sql(view: str, members: list[CatalogFile]) -> str:
    labels = sorted({name for file in members for name in file.labels} - _own_columns(members[0]))
    columns = "".join(f"files.labels[{_quote(name)}] as {_identifier(name)}, " for name in labels)
    paths = ", ".join(_quote(str(file.path)) for file in members)
    return (
        f"create view {_identifier(view)} as select {columns}rows.* exclude (filename) "
        f"from read_parquet([{paths}], filename = true, union_by_name = true) as rows "
        f"join files on files.path = rows.filename and files.view = {_quote(view)}"
    )


def _own_columns(file: CatalogFile) -> set[str]:
    return set(pq.read_schema(file.path).names)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


@contextmanager
def open_catalog(results: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a run's catalog for reading only; no other file can be reached through it.

    SQL may call `embedding_array(embedding)` for a list of floats. Raise StoreError when there is
    no catalog, and InputError, with DuckDB's own words, for SQL that it refuses.
    """
    path = results / CATALOG
    if not path.is_file():
        raise StoreError(f"{path}: no such catalog. Run `snakemake {path}` first.")
    with duckdb.connect(str(path), read_only=True) as connection:
        paths = connection.execute("select path from files").fetchall()
        folders = sorted({str(Path(file).parents[1]) for (file,) in paths})
        connection.execute(f"set allowed_directories = [{', '.join(map(_quote, folders))}]")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        connection.create_function(
            "embedding_array", embedding_array, ["blob"], "float[]", type=ARROW
        )
        try:
            yield connection
        except duckdb.Error as error:
            tables = ", ".join(row[0] for row in connection.execute("show tables").fetchall())
            raise InputError(f"{error}\nThe catalog has: {tables}.") from error


def embedding_array(embeddings: pa.ChunkedArray) -> pa.Array:
    """Return stored embeddings, float16 in bytes, as lists of float32.

    >>> embedding_array(pa.chunked_array([[b"\\x00\\x3c\\x00\\xb8"]])).to_pylist()
    [[1.0, -0.5]]
    """
    rows = embeddings.to_pylist()
    values = np.frombuffer(b"".join(rows), "<f2").astype(np.float32)
    ends = np.cumsum([0, *(len(row) // 2 for row in rows)], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(values))
