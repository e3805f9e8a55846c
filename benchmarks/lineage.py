"""Measures how fast questions about lineage are answered on a store of a million records.

    .venv/bin/python benchmarks/lineage.py [--records 1000000] [--folder FOLDER]

Makes a store of simulated runs of 5,000 actions each: 16 steps for each of 300 parts, each made of
the one before, then manifests of all parts, models, their predictions and one table. 2,000 records
of the newest run are loose, all others packed. One results folder has the pointers of the four
newest runs, another those of the run before the newest. Runs are dated a day apart, and nothing was
collected: the store keeps every action's file and object, which is empty. Each question is asked in
a process of its own, with the packed files out of the page cache. It prints wall seconds with
start-up, CPU seconds, and peak memory (not of the commands that it starts). An existing FOLDER is
used again; after some days it has no young actions.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import pyarrow as pa

from clipaudit.lineage.walk import actions_below
from clipaudit.store.actions import ActionCache
from clipaudit.store.packing import pack, register_records, write_packed
from clipaudit.store.placements import Placement, place
from clipaudit.store.record_tables import SCHEMA, packed_folder, record_row
from clipaudit.store.records import read_record
from clipaudit.store.store import Pointer, Store, link_object, replace_text

PARTS, STAGES, MANIFESTS, MODELS, PREDICTIONS = 300, 16, 20, 60, 119
RUN = PARTS * STAGES + MANIFESTS + MODELS + PREDICTIONS + 1  # actions; the last makes the table
LOOSE = 2_000  # actions of the newest run that are not packed
SHOWN_RUNS = 4  # with their pointers in the results folder: some 20,000
DAY = 86_400  # seconds, from one run to the next


# --- the store ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Act:
    """One action of a simulated run; its number there says what it does."""

    run: int
    number: int

    @property
    def key(self) -> str:
        """Return its action key, as random as real ones are."""
        return hashlib.sha256(f"{self.run} {self.number}".encode()).hexdigest()

    @property
    def kind(self) -> tuple[str, int]:
        """Return the step and which of its actions this is."""
        if self.number < PARTS * STAGES:
            return f"stage{self.number // PARTS}", self.number % PARTS
        place = self.number - PARTS * STAGES
        for step, many in (("manifest", MANIFESTS), ("train", MODELS), ("evaluate", PREDICTIONS)):
            if place < many:
                return step, place
            place -= many
        return "table", 0

    def inputs(self) -> list["Act"]:
        """Return the actions whose outputs this one reads."""
        step, which = self.kind
        last, manifests = PARTS * (STAGES - 1), PARTS * STAGES
        models = manifests + MANIFESTS
        read: Iterable[int] = {
            "stage0": [],
            "manifest": range(last, manifests),
            "train": [manifests + which % MANIFESTS],
            "evaluate": [models + which % MODELS, which],
            "table": range(models + MODELS, RUN - 1),
        }.get(step, [self.number - PARTS])
        return [Act(self.run, number) for number in read]

    @property
    def path(self) -> str:
        """Return the path of its pointer, the same in every run."""
        step, which = self.kind
        return f"results/{step}/{which}.json" if step != "table" else "results/tables/table.json"

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of its job."""
        step, which = self.kind
        if step in ("train", "evaluate"):
            return {"model": str(which % MODELS), "seed": "0"}
        return {"corpus": "large", "part": f"{which:05}"}

    def pointer(self, tables: Sequence[Pointer]) -> Pointer:
        """Return its output: its run's table, or an object that is empty here."""
        if self.kind[0] == "table":
            return tables[self.run]
        return Pointer(self.key[::-1], 1000, 10**6, "rows")

    def record(self, tables: Sequence[Pointer]) -> dict[str, Any]:
        """Return its record as JSON has it."""
        files = [
            {"action": act.key, "digest": act.key[::-1], "labels": act.labels, "path": act.path}
            for act in self.inputs()
        ]
        shards: list[dict[str, Any]] = [
            {"action": None, "digest": hashlib.sha256(path.encode()).hexdigest(), "labels": {},
             "path": path}
            for path in (f"data/shards/{4 * self.number + n:05}.tar" for n in range(4))
        ]  # fmt: skip
        settings = {"encoder": {"name": "ViT-B-16-plus-240", "batch": 256}, "revision": self.run}
        versions = {"duckdb": "2.0.0", "numpy": "2.3.5", "pyarrow": "26.0.1", "python": "3.11.7"}
        written = {"table": 0.1 * self.number}
        return {
            "action": self.key,
            "execution": {
                "host": f"node{self.number % 100}", "peak_memory_mb": 500, "seconds": 12.5,
                "started": f"2026-01-01T00:{self.run % 60:02}:00.000+00:00", "threads": 2,
                "versions": versions, "written": written,
            },
            "ingredients": {
                "code": hashlib.sha256(self.kind[0].encode()).hexdigest(),
                "environment": {"device": "cpu avx512f", "threads": "2", "torch": "2.15.0"},
                "inputs": {"tables": files} if files else {"shards": shards},
                "reads_labels": True, "settings": settings, "step": self.kind[0],
            },
            "outputs": {
                "table": {"extension": ".parquet", "labels": {},
                          "pointer": asdict(self.pointer(tables))}
            },
            "wildcards": self.labels,
        }  # fmt: skip


def make(folder: Path, records: int) -> None:
    """Make a store of this many records, and the results folder of its newest runs."""
    store = Store(folder / "store")
    packed_folder(store).mkdir(parents=True)
    runs = max(2, records // RUN)
    tables = [_table_object(store, run) for run in range(runs)]
    acts = [Act(run, number) for run in range(runs) for number in range(RUN)]
    loose = {act for act in acts[-RUN:] if act.number < LOOSE}
    for act in loose:
        path = store.root / "lineage" / act.key[:2] / act.key[2:] / "2026-01-01T000000-1.json"
        replace_text(path, json.dumps(act.record(tables), indent=1, sort_keys=True))
    packed = sorted((act.key, act.run, act.number) for act in acts if act not in loose)
    groups = [list(group) for _, group in groupby(packed, key=lambda each: each[0][:2])]
    folders = [f"{first:02x}" for first in range(256)]
    for kind in ("actions", "objects"):
        for name in folders:
            (store.root / kind / name).mkdir(parents=True, exist_ok=True)
    with Pool() as processes:
        for _ in processes.imap_unordered(partial(_write_group, store, tables), groups):
            pass
        for _ in processes.imap_unordered(partial(_store_run, store, tables), range(runs)):
            pass
    for run in range(max(0, runs - SHOWN_RUNS), runs):
        results = folder / "results" if run == runs - 1 else folder / "results" / f"run{run}"
        _show(folder / "results", results, run, tables)
    _show(folder / "before", folder / "before", runs - 2, tables)
    for name, table in (("results", tables[-1]), ("before", tables[-2])):
        link_object(folder / name / "tables" / "table.parquet", store.path(table.digest))


def _write_group(
    store: Store, tables: Sequence[Pointer], group: list[tuple[str, int, int]]
) -> None:
    """Write one packed file, 256 rows at a time."""
    target = packed_folder(store) / f"{group[0][0][:2]}.parquet"
    chunks = (group[start : start + 256] for start in range(0, len(group), 256))
    name = "2026-01-01T000000-1.json"
    write_packed(
        (
            pa.Table.from_pylist(
                [
                    record_row(key, name, Act(run, number).record(tables))
                    for key, run, number in rows
                ],
                schema=SCHEMA,
            )
            for rows in chunks
        ),
        target,
    )


def _store_run(store: Store, tables: Sequence[Pointer], run: int) -> None:
    """Write the actions and objects of a run, with its date."""
    then = time.time() - DAY * (len(tables) - 1 - run)
    for act in (Act(run, number) for number in range(RUN)):
        outputs = act.record(tables)["outputs"]
        path = ActionCache(store).file(act.key)
        path.write_text(json.dumps({"outputs": outputs}, sort_keys=True, indent=1) + "\n")
        os.utime(path, (then, then))
        path = store.path(act.pointer(tables).digest)
        if act.kind[0] != "table":
            path.touch()
            os.utime(path, (then, then))


def _table_object(store: Store, run: int) -> Pointer:
    import pyarrow.parquet as pq

    rows = pa.table({"model": [str(n) for n in range(MODELS)], "accuracy": [run / 1000] * MODELS})

    def write(path: Path) -> int:
        pq.write_table(rows, path)
        return int(rows.num_rows)

    return store.put(write, schema="table")


def _show(root: Path, results: Path, run: int, tables: Sequence[Pointer]) -> None:
    """Put a run's pointers and their placements into a folder."""
    for act in (Act(run, number) for number in range(RUN)):
        path = results / Path(act.path).relative_to("results")
        replace_text(path, act.pointer(tables).to_json())
        place(root, path, Placement(act.key, "table", act.labels))


# --- the questions -----------------------------------------------------------------------------


def walk(results: Path, store: Store) -> str:
    """All actions below the table."""
    return f"{len(actions_below(results, store, [results / 'tables' / 'table.json'])):,} actions"


def one_key(results: Path, store: Store) -> str:
    """The record of one action."""
    return read_record(store, Act(0, 17).key).ingredients.step


def sql(results: Path, store: Store) -> str:
    """What each step cost, over all records."""
    import duckdb

    with duckdb.connect() as connection:
        register_records(connection, store)
        rows = connection.sql("select step, count(*), sum(seconds) from records group by step")
        return f"{sum(row[1] for row in rows.fetchall()):,} records"


def sql_inputs(results: Path, store: Store) -> str:
    """How often each file of a user was read, over all records."""
    import duckdb

    query = """
        select file.path, count(*) from (select unnest(inputs) as file from records)
        where file.action is null group by all
    """
    with duckdb.connect() as connection:
        register_records(connection, store)
        rows = connection.sql(query)
        return f"{len(rows.fetchall()):,} files"


def why(results: Path, store: Store) -> str:
    """The tree below one model's row."""
    return _told("why", "results/tables/table.parquet", "--where", "model = '7'")


def diff(results: Path, store: Store) -> str:
    """Two runs without a common file."""
    return _told("diff", "before", str(results))


def prov(results: Path, store: Store) -> str:
    """The newest run's provenance, as an RO-Crate without files."""
    asked = ("--format", "ro-crate", "--no-files", "--force", "--output", "crate")
    return _told("prov", *asked)


def gc(results: Path, store: Store) -> str:
    """What a collection would remove."""
    return _told("gc")


def _told(*asked: str) -> str:
    """Run one of our commands; return how many lines it printed, and the last one."""
    command = [str(Path(sys.executable).parent / "clipaudit"), *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    return f"{len(lines):,} lines: {lines[-1][-200:]}"


def compact(results: Path, store: Store) -> str:
    """The loose records packed into the packed files."""
    done = pack(store)
    return f"{done.records:,} records into {done.bytes / 1e6:.0f} MB"


QUESTIONS = {
    ask.__name__: ask for ask in (one_key, walk, why, diff, prov, gc, sql, sql_inputs, compact)
}


def ask(folder: Path, question: str) -> None:
    """Run one question in a new process and print what it took."""
    for path in packed_folder(Store(folder / "store")).glob("*.parquet"):
        with path.open() as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.monotonic()
    command = [sys.executable, os.path.abspath(__file__), "--question", question]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    print(f"{question:12} {time.monotonic() - start:7.2f} s  {done.stdout.strip()}", flush=True)


def _peak_megabytes() -> int:
    """Return the peak memory of this process, without its parent's."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) // 1024


def main() -> None:
    """Run the benchmark; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="in the store, about")
    parser.add_argument("--folder", type=Path, help="kept; a temporary one if absent")
    parser.add_argument("--question", choices=QUESTIONS, help="ask the store of this folder only")
    settings = parser.parse_args()
    if settings.question:
        answer = QUESTIONS[settings.question](Path("results"), Store(Path("store")))
        cpu = sum(os.times()[:4])
        print(f"{cpu:6.2f} s CPU {_peak_megabytes():6} MB  {answer}")
        return
    with tempfile.TemporaryDirectory() as spare:
        folder = settings.folder or Path(spare)
        if not (folder / "store").exists():
            start = time.monotonic()
            make(folder, settings.records)
            print(f"made in {time.monotonic() - start:.0f} s")
        sizes = [path.stat().st_size for path in packed_folder(Store(folder / "store")).iterdir()]
        print(f"{sum(sizes) / 1e6:.0f} MB in {len(sizes)} packed files")
        for question in QUESTIONS:
            ask(folder, question)


if __name__ == "__main__":
    main()
