"""A results folder and its store, filled by hand: files, the actions that made them, and SQL."""

import hashlib

import pyarrow as pa

from clipaudit.lineage import recorded_sql
from clipaudit.reports import tables
from clipaudit.reports.tables import report_table
from clipaudit.store.actions import ActionInput, ActionOutput, Ingredients, LabelledFile
from clipaudit.store.code_records import CodeRecord, write_code
from clipaudit.store.parquet import write_tables
from clipaudit.store.placements import Placement, place
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Store, link_object, replace_text

RAN = Execution("2026-01-01T00:00:00.000", 1.5, "host", 100, 1, {"python": "3.11"}, {})


class HandmadeRun:
    """Files are put in place with the record of an action that made them."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.results = folder, folder / "results"
        self.store = Store(folder / "store")
        for module in (tables, recorded_sql):
            monkeypatch.setattr(module, "report_file", lambda kind, name: folder / kind / name)
        (folder / "sql").mkdir()

    def act(self, step, outputs, inputs=None, **settings):
        """Record an action; outputs: path -> (labels, rows or text). Returns them as inputs."""
        inputs = {name: list(files) for name, files in (inputs or {}).items()}
        made_of = Ingredients(step, f"code of {step}", settings, inputs, {"torch": "2"})
        key, given = made_of.key(), {}
        for path, (labels, content) in outputs.items():
            given[path] = self._output(labels, content)
        write_record(self.store, Record(key, made_of, given, {}, RAN))
        return [self._place(path, key, output) for path, output in given.items()]

    def shard(self, path):
        """Return a user's file as an action reads it."""
        return ActionInput(hashlib.sha256(path.encode()).hexdigest(), path)

    def report(self, name, sql, views, relations=None, parameters=None):
        """Make a table by SQL, as a report_table step does."""
        relations, parameters = relations or {}, parameters or {}
        self.write_sql(name, sql)
        sources = {view: [self._labelled(file) for file in files] for view, files in views.items()}
        given = {view: pa.Table.from_pylist(rows) for view, rows in relations.items()}
        table = report_table(name, {**sources, **given}, parameters)
        settings = {"sql": name, "relations": relations, "parameters": parameters}
        outputs = {f"tables/{name}.json": ({}, table)}
        (made,) = self.act("report_table", outputs, views, **settings)
        write_code(self.store, "code of report_table", CodeRecord({"m": "d"}, {f"{name}.sql": sql}))
        return made

    def write_sql(self, name, sql):
        (self.folder / "sql" / f"{name}.sql").write_text(sql)

    def _output(self, labels, content):
        if isinstance(content, str):
            pointer = self.store.put_bytes(content.encode(), schema="txt")
            return ActionOutput(pointer, ".txt", labels)
        table = content if isinstance(content, pa.Table) else pa.Table.from_pylist(content)
        pointer = self.store.put(
            lambda path: write_tables([table], table.schema, path), schema="rows"
        )
        return ActionOutput(pointer, ".parquet", labels)

    def _place(self, path, key, output):
        pointer = self.results / path
        place(self.results, pointer, Placement(key, path, output.labels))
        target = self.store.path(output.pointer.digest)
        link_object(pointer.with_suffix(output.extension), target)
        replace_text(pointer, output.pointer.to_json())
        return ActionInput(output.pointer.digest, str(pointer), output.labels, key)

    def _labelled(self, file):
        return LabelledFile(self.store.path(file.digest), file.labels)
