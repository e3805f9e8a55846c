"""Build the graph of the actions behind some tables, as plain data for pages and programs."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clipaudit.lineage.recorded_sql import table_sql
from clipaudit.lineage.walk import Makers, actions_below
from clipaudit.plaindata import Json
from clipaudit.store.placements import placement
from clipaudit.store.records import Record
from clipaudit.store.store import Store


def table_graph(results: Path, store: Store, pointers: Sequence[Path]) -> dict[str, Any]:
    """Return all actions behind some pointers, each once, as data for `json.dumps`.

        tables   path of a pointer relative to `results` -> the key of the action that placed it
        actions  key -> step, labels, code, settings, environment, circumstances, outputs and
                 inputs: by name, each file with path, digest, labels and `action`, its maker
        sql      key -> the SQL text of a table's action, if SQL made it
        origins  key -> the origin of that text: recorded when it ran, or the installed package

    Tables are in the given order, actions sorted by key. Without pointers the mappings are empty.
    Raise StoreError for a pointer without a known action, and for a missing record.
    """
    tables = {
        pointer.relative_to(results).as_posix(): placement(results, pointer).action
        for pointer in pointers
    }
    records = actions_below(results, store, pointers)
    makers = Makers(results)
    found = {key: table_sql(store, records[key]) for key in sorted(set(tables.values()))}
    return {
        "tables": tables,
        "actions": {
            key: {**described(records[key]), "inputs": _inputs(makers, records[key])}
            for key in sorted(records)
        },
        "sql": {key: sql.text for key, sql in found.items() if sql},
        "origins": {key: sql.origin for key, sql in found.items() if sql},
    }


def described(record: Record) -> dict[str, Any]:
    """Return an action without its inputs as plain data: its settings, outputs and cost.

    Settings are flattened to dotted names; an output has digest, rows, bytes and labels.
    """
    made_of, ran = record.ingredients, record.execution
    return {
        "step": made_of.step,
        "labels": dict(record.wildcards),
        "code": made_of.code,
        "settings": dict(flat(made_of.settings)),
        "environment": dict(made_of.environment),
        "started": ran.started,
        "seconds": ran.seconds,
        "host": ran.host,
        "owner": ran.owner,
        "threads": ran.threads,
        "peak_memory_mb": ran.peak_memory_mb,
        "versions": dict(ran.versions),
        "outputs": {
            name: {
                "digest": output.pointer.digest,
                "rows": output.pointer.rows,
                "bytes": output.pointer.bytes,
                "labels": dict(output.labels),
            }
            for name, output in sorted(record.outputs.items())
        },
    }


def _inputs(makers: Makers, record: Record) -> dict[str, list[dict[str, Any]]]:
    """Return an action's input files by name: path, digest, labels, key of the maker (or None)."""
    return {
        name: [
            {
                "path": file.path,
                "digest": file.digest,
                "labels": dict(file.labels),
                "action": makers.maker(file),
            }
            for file in files
        ]
        for name, files in sorted(record.ingredients.inputs.items())
    }


def flat(settings: Json, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield nested settings by dotted name, in name order, without unset ones.

    >>> dict(flat({"recipe": {"seed": 1, "start": None}, "base": "all"}))
    {'base': 'all', 'recipe.seed': 1}
    """
    for name, value in sorted(settings.items()):
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        elif value is not None:
            yield f"{above}{name}", value
