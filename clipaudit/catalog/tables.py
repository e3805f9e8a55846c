"""The catalog's own tables: the files of its views, and the cost of a run's actions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from clipaudit.store.records import Record

if TYPE_CHECKING:
    import duckdb

_TEXT = pa.string()
TABLES = {
    "files": pa.schema(
        {"view": _TEXT, "path": _TEXT, "labels": pa.map_(_TEXT, _TEXT), "action": _TEXT}
    ),
    "shard_files": pa.schema(
        {"corpus": _TEXT, "shard": pa.int32(), "path": _TEXT, "sha256": _TEXT}
    ),
    "executions": pa.schema(
        {
            "action": _TEXT,
            "step": _TEXT,
            "started": _TEXT,
            "seconds": pa.float64(),
            "peak_memory_mb": pa.int64(),
            "threads": pa.int32(),
            "host": _TEXT,
            "owner": _TEXT,
        }
    ),
    "epochs": pa.schema(
        {"recipe": _TEXT, "manifest": _TEXT, "epoch": pa.int32(), "seconds": pa.float64()}
    ),
}


@dataclass(frozen=True)
class CatalogFile:
    """One Parquet object of a view, the labels that become columns, and its action."""

    view: str
    path: Path
    labels: Mapping[str, str]
    action: str = ""


def view_columns(
    connection: "duckdb.DuckDBPyConnection", database: str | None = None
) -> dict[str, list[str]]:
    """Return the columns, in order, of every view and table of a database, by name."""
    found = connection.execute(
        "select table_name, list(column_name order by column_index) from duckdb_columns() "
        "where not internal and database_name = coalesce(?, database_name) "
        "group by table_name order by table_name",
        [database],
    ).fetchall()
    return dict(found)


def write_tables(
    connection: "duckdb.DuckDBPyConnection",
    groups: Mapping[str, Sequence[CatalogFile]],
    actions: Mapping[str, Record],
) -> None:
    """Write the tables of a catalog for these files by view and the actions that made them."""
    for name, rows in _table_rows(groups, actions).items():
        schema = TABLES[name]
        named = [dict(zip(schema.names, row, strict=True)) for row in rows]
        connection.register("rows", pa.Table.from_pylist(named, schema=schema))
        connection.execute(f"create table {name} as from rows")
        connection.unregister("rows")


def _table_rows(
    groups: Mapping[str, Sequence[CatalogFile]], actions: Mapping[str, Record]
) -> dict[str, list[tuple[object, ...]]]:
    samples = [file for file in groups.get("samples", ()) if file.action in actions]
    return {
        "files": [
            (view, str(file.path), list(file.labels.items()), file.action)
            for view, members in sorted(groups.items())
            for file in members
        ],
        "shard_files": _shard_files([(file, actions[file.action]) for file in samples]),
        "executions": [_execution(key, record) for key, record in sorted(actions.items())],
        "epochs": sorted(row for record in actions.values() for row in _epochs(record)),
    }


def _shard_files(samples: Sequence[tuple[CatalogFile, Record]]) -> list[tuple[object, ...]]:
    """Return the shards of each corpus; a split has those of its corpus."""
    tars: dict[str, list[tuple[int, str, str]]] = {}
    splits: dict[str, str] = {}
    for file, record in samples:
        inputs = record.ingredients.inputs
        corpus = file.labels.get("corpus", "")
        if shards := inputs.get("tars") or inputs.get("files"):  # files list what has no tars
            numbers = record.ingredients.settings["shards"]
            tars.setdefault(corpus, []).extend(
                (int(number), shard.path, shard.digest)
                for number, shard in zip(numbers, shards, strict=True)
            )
        elif corpus and "samples" in inputs:
            splits[corpus] = inputs["samples"][0].labels.get("corpus", "")
    tars |= {split: tars.get(corpus, []) for split, corpus in splits.items()}
    return [(corpus, *tar) for corpus in sorted(tars) for tar in sorted(tars[corpus])]


def _execution(key: str, record: Record) -> tuple[object, ...]:
    ran, step = record.execution, record.ingredients.step
    given = ran.started, ran.seconds, ran.peak_memory_mb, ran.threads, ran.host, ran.owner
    return key, step, *given


def _epochs(record: Record) -> Iterator[tuple[str, str, int, float]]:
    """Yield recipe, manifest, each kept epoch and the seconds since the kept epoch before it.

    The first row also counts the start of the process.
    """
    before = 0.0
    written = record.execution.written
    for output in sorted(written, key=lambda name: float(written[name])):
        epoch = record.outputs[output].labels.get("epoch")
        if epoch is not None and output != "checkpoint":  # that is one of a training run's
            labels = record.wildcards
            yield (
                labels["recipe"],
                labels["manifest"],
                int(epoch),
                round(written[output] - before, 3),
            )
            before = written[output]
