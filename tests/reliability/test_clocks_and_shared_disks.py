"""Clocks that jump, and disks that ignore case, do not lock, or show files late."""

import errno
import fcntl
import os
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.config.loading import parse_settings
from clipaudit.errors import ConfigError, StoreError
from clipaudit.steps.filedigests import FileDigests
from clipaudit.steps.step import Step
from clipaudit.store.late_objects import awaited_path
from clipaudit.store.store import Pointer, Store

ROOT = Path(__file__).parents[2]
SCHEMA = pa.schema([pa.field("number", pa.int64(), nullable=False)])
YEAR_NS = 365 * 24 * 3600 * 10**9


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


class Job:
    """The job that Snakemake passes to a script of one input and one output."""

    rule, threads = "keep_all", 1

    def __init__(self, folder, inputs=()):
        self.params = type("Params", (dict,), {"code": "0" * 64})(number=1)
        self.config = {"results": str(folder / "results"), "store": str(folder / "store")}
        self.output = {"made": str(folder / "results/stage/made.json")}
        self.resources, self.wildcards, self.input = {}, {}, dict(inputs)


def make(folder):
    """Run one step; return its pointer and whether it computed."""
    computed = []

    def compute(step):
        computed.append(True)
        step.write_table("made", pa.table({"number": [1, 2]}, SCHEMA), SCHEMA)

    job = Job(folder)
    Step(job).run(compute)
    return Pointer.read(Path(job.output["made"])), bool(computed)


# --- clocks --------------------------------------------------------------------------------------


@given(jump=st.integers(-40 * YEAR_NS, 40 * YEAR_NS))
def test_an_object_of_any_age_is_trusted_by_its_content(tmp_path_factory, jump):
    store = Store(tmp_path_factory.mktemp("store"))
    pointer = store.put_bytes(b"abc", schema="x")
    path, when = store.path(pointer.digest), max(0, time.time_ns() + jump)
    os.utime(path, ns=(when, when))

    assert store.checked_path(pointer).read_bytes() == b"abc"


@pytest.mark.parametrize("jump", [-YEAR_NS, YEAR_NS])
def test_a_clock_jump_hides_no_change_of_a_shard(tmp_path, monkeypatch, jump):
    files, path, now = FileDigests(tmp_path / "files"), tmp_path / "a.tar", time.time_ns()
    path.write_bytes(b"old")
    before = files.digest(path)

    monkeypatch.setattr(time, "time_ns", lambda: now + jump)
    path.write_bytes(b"new")
    os.utime(path, ns=(now + jump, now + jump))

    assert files.digest(path) != before


def test_a_clock_set_back_causes_no_computation(tmp_path):
    pointer, _ = make(tmp_path)
    for path in tmp_path.rglob("*"):
        os.utime(path, (4e9, 4e9), follow_symlinks=False)  # written in the year 2096

    assert make(tmp_path) == (pointer, False)


# --- names ---------------------------------------------------------------------------------------


def test_names_used_for_lookups_have_no_capital_letters(tmp_path):
    make(tmp_path)

    found = [path for room in ("objects", "actions") for path in tmp_path.glob(f"store/{room}/*/*")]

    assert len(found) == 2
    assert all(path.name == path.name.lower() for path in found)


@pytest.mark.parametrize("section", ["corpora", "recipes", "worlds"])
def test_two_names_that_differ_only_in_case_are_refused(section):
    content = yaml.safe_load((ROOT / "config/micro.yaml").read_text())
    name = next(iter(content[section]))
    content[section][name.upper()] = content[section][name]

    with pytest.raises(ConfigError, match="differ only in case and share one folder"):
        parse_settings(content)


# --- shared disks --------------------------------------------------------------------------------


def test_a_disk_without_locks_costs_at_most_a_computation(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)

    pointer, _ = make(tmp_path)

    assert make(tmp_path) == (pointer, False)


def hidden(store, pointer):
    """Move an object where this machine does not look, like a disk that shows it late."""
    path = store.path(pointer.digest)
    aside = store.root.parent / "not yet seen"
    os.rename(path, aside)
    return path, aside


def test_a_reader_waits_for_an_object_that_appears_late(store):
    pointer = store.put_bytes(b"abc", schema="x")
    path, aside = hidden(store, pointer)
    late = threading.Timer(0.5, os.rename, (aside, path))
    late.start()

    assert awaited_path(store, pointer).read_bytes() == b"abc"
    late.join()


def test_a_step_waits_for_the_object_of_its_pointer(tmp_path):
    pointer, _ = make(tmp_path)
    step = Step(Job(tmp_path, {"made": [str(tmp_path / "results/stage/made.json")]}))
    path, aside = hidden(step.store, pointer)
    late = threading.Timer(0.5, os.rename, (aside, path))
    late.start()

    assert step.table("made")["number"].to_pylist() == [1, 2]
    late.join()


def test_a_missing_object_is_an_error_after_a_while(store):
    pointer = store.put_bytes(b"abc", schema="x")
    hidden(store, pointer)

    with pytest.raises(StoreError, match="the object is missing"):
        awaited_path(store, pointer, seconds=0.3)


def test_a_reader_does_not_wait_for_an_altered_object(store):
    pointer = store.put_bytes(b"abc", schema="x")
    os.chmod(store.path(pointer.digest), 0o644)
    store.path(pointer.digest).write_bytes(b"abcd")
    started = time.monotonic()

    with pytest.raises(StoreError, match="4 bytes, its pointer says 3"):
        awaited_path(store, pointer, seconds=60)

    assert time.monotonic() - started < 30
