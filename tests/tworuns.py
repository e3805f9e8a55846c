"""Results folders and their store, filled by hand with the records that steps would write."""

import hashlib

import pyarrow as pa

from clipaudit.lineage.snapshots import folder_run
from clipaudit.store.actions import ActionInput, ActionOutput, Ingredients
from clipaudit.store.parquet import write_tables
from clipaudit.store.placements import Placement, place, placement
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Pointer, Store, link_object, replace_text

RAN = Execution("2026-01-01T00:00:00", 1.0, "host", 100, 1, {}, {})


class HandMade:
    """A results folder whose actions have real keys: actions that differ have different content."""

    def __init__(self, results, store):
        self.results, self.store = results, Store(store)
        self.files = {}  # a user's file -> its content

    def run(self):
        return folder_run(self.results, self.store)

    def act(
        self, path, *, step="step", code="code", settings=None, environment=None, inputs=None,
        gives=None, labels=None,
    ):  # fmt: skip
        """Record an action that puts bytes or a table at `path`; by default those of its key."""
        inputs = {
            name: [self.input(file) for file in files] for name, files in (inputs or {}).items()
        }
        made_of = Ingredients(step, code, settings or {}, inputs, environment or {})
        key = made_of.key()
        pointer, extension = self.put(key.encode() if gives is None else gives)
        output = "table" if path.startswith(("tables/", "figures/")) else "out"
        outputs = {output: ActionOutput(pointer, extension, {})}
        write_record(self.store, Record(key, made_of, outputs, labels or {}, RAN))
        pointer_file = self.results / path
        place(self.results, pointer_file, Placement(key, output, labels or {}))
        link_object(pointer_file.with_suffix(extension), self.store.path(pointer.digest))
        replace_text(pointer_file, pointer.to_json())
        return key

    def input(self, path):
        if path in self.files:
            return ActionInput(hashlib.sha256(self.files[path]).hexdigest(), path)
        pointer_file = self.results / path
        placed = placement(self.results, pointer_file)
        digest = Pointer.read(pointer_file).digest
        return ActionInput(digest, f"results/{path}", placed.labels, placed.action)

    def put(self, gives):
        if isinstance(gives, bytes):
            return self.store.put_bytes(gives, schema="x"), ".x"
        table = gives if isinstance(gives, pa.Table) else pa.Table.from_pylist(gives)
        return self.store.put(
            lambda path: write_tables([table], table.schema, path), schema="table"
        ), ".parquet"


def two_runs(folder):
    """Return two empty results folders of one store."""
    return HandMade(folder / "a/results", folder / "store"), HandMade(
        folder / "b/results", folder / "store"
    )
