"""Hand-made lineage records, and the files in a store's folder of them."""

import hashlib

from clipaudit.store.actions import ActionInput, ActionOutput, Ingredients
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Pointer


def key(name):
    """Return an action key that is the same for the same name."""
    return hashlib.sha256(str(name).encode()).hexdigest()


def made(name="a", second=0, **labels):
    """Return the record of an execution of the named action that starts in the given second."""
    started = f"2026-01-01T00:{second // 60:02}:{second % 60:02}.000+00:00"
    inputs = {"shards": [ActionInput(key("tar"), "data/0.tar"), ActionInput(key("b"), "b", {}, "")]}
    return Record(
        action=key(name),
        ingredients=Ingredients("index", key("code"), {"part": 1}, inputs, {"device": "cpu"}),
        outputs={"samples": ActionOutput(Pointer(key("out"), 3, 40, "samples"), ".parquet", {})},
        wildcards={"corpus": "large", **labels},
        execution=Execution(started, 1.5, "node1", 100, 2, {"python": "3.11"}, {"samples": 1.0}),
    )


def record_all(store, records):
    """Write records as loose files and return them."""
    for record in records:
        write_record(store, record)
    return list(records)


def loose_names(store):
    """Return the names of all loose files, sorted."""
    return sorted(path.name for path in (store.root / "lineage").glob("[0-9a-f][0-9a-f]/*/*.json"))
