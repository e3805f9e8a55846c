import contextlib
import errno
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maderecords import key, loose_names, made, record_all

from clipaudit.errors import InputError, StoreError
from clipaudit.store import packing, record_tables
from clipaudit.store.packing import keep_packed, loose_count, pack, register_records
from clipaudit.store.record_tables import SCHEMA
from clipaudit.store.records import read_record, read_records, write_record
from clipaudit.store.store import Store

PACK_FOREVER = """
import sys
from pathlib import Path
from clipaudit.store.packing import pack
from clipaudit.store.store import Store
while True:
    pack(Store(Path(sys.argv[1])))
    print("packed", flush=True)
"""


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "it's a store")


@pytest.fixture
def packer(store):
    """Start a process that packs continuously."""
    command = [sys.executable, "-c", PACK_FOREVER, str(store.root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "packed\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def packed_files(store):
    return sorted((store.root / "lineage" / "packed").glob("*"))


def packed_names(store):
    return sorted(
        name for path in packed_files(store) for name in pq.read_table(path)["name"].to_pylist()
    )


def asked(store, query):
    with duckdb.connect() as connection:
        register_records(connection, store)
        return connection.sql(query).fetchall()


# --- packing -----------------------------------------------------------------------------------


def test_packing_moves_every_record_and_removes_its_folder(store):
    records = record_all(store, [made(number) for number in range(50)])

    done = pack(store)

    assert (done.records, done.files) == (50, len(packed_files(store)))
    assert loose_names(store) == []
    assert list((store.root / "lineage").glob("??/*")) == []
    assert list(read_records(store, map(key, range(50))).values()) == records


def test_packing_a_store_without_records_does_nothing(store):
    done = pack(store)

    assert (done.records, done.files, done.bytes) == (0, 0, 0)
    assert not store.root.exists()


def test_packing_in_steps_gives_the_same_bytes_as_packing_in_one_go(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "ROWS_PER_GROUP", 3)
    records = [made("a" if number % 3 else "b", number) for number in range(23)]
    steps, once = Store(tmp_path / "steps"), Store(tmp_path / "once")

    for start in range(0, len(records), 4):
        record_all(steps, records[start : start + 4][::-1])
        pack(steps)
    record_all(once, records)
    pack(once)

    assert [path.read_bytes() for path in packed_files(steps)] == [
        path.read_bytes() for path in packed_files(once)
    ]


def test_packing_in_steps_leaves_no_small_row_groups(store, monkeypatch):
    monkeypatch.setattr(packing, "ROWS_PER_GROUP", 4)

    for second in range(10):
        write_record(store, made("a", second))
        pack(store)

    (path,) = packed_files(store)
    metadata = pq.read_metadata(path)
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [4, 4, 2]


def test_the_last_execution_is_found_across_row_groups(store, monkeypatch):
    monkeypatch.setattr(packing, "ROWS_PER_GROUP", 2)
    record_all(store, [made("a", second) for second in range(7)])
    pack(store)

    assert read_record(store, key("a")) == made("a", 6)


def test_an_older_file_without_a_column_is_read_and_packed_again(store, monkeypatch):
    monkeypatch.setattr(record_tables, "SCHEMA", SCHEMA.remove(len(SCHEMA) - 1))
    monkeypatch.setattr(packing, "SCHEMA", record_tables.SCHEMA)
    record_all(store, [made("a", 1)])
    pack(store)
    monkeypatch.undo()

    before = asked(store, "select action, share from records")
    record_all(store, [made("a", 2)])
    pack(store)

    assert before == [(key("a"), None)]
    assert asked(store, "select share from records order by started") == [(None,), (1.0,)]


@pytest.mark.parametrize("text", ["", "[]", '{"action": "a"}', "\ufeff{}"])
def test_a_file_that_is_not_a_record_stays_in_place_and_is_reported(store, text):
    record_all(store, [made("a", 1), made("b")])
    damaged = store.root / "lineage" / key("a")[:2] / key("a")[2:] / "2026-9.json"
    damaged.write_text(text)

    done = pack(store)

    assert (done.records, loose_names(store)) == (2, ["2026-9.json"])
    assert [fault.partition(": not a lineage record")[0] for fault in done.faults] == [str(damaged)]


def test_a_file_name_that_is_not_unicode_can_be_packed(store):
    record = made("a", part="\udcff")

    write_record(store, record)
    pack(store)

    assert read_record(store, key("a")) == record
    assert asked(store, "select wildcards['part'] from records") == [("\\udcff",)]


def test_two_packers_never_run_together(store):
    write_record(store, made("a"))

    with (store.root / "lineage" / "packing.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        with pytest.raises(InputError, match=r"packing\.lock: another process is packing"):
            pack(store)


def test_a_disk_without_locks_is_refused(store, monkeypatch):
    write_record(store, made("a"))

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)

    with pytest.raises(StoreError, match=r"cannot be locked .*No locks available"):
        pack(store)


def test_a_packed_file_that_was_replaced_meanwhile_is_kept(store, monkeypatch):
    record_all(store, [made("a", 1)])
    pack(store)
    (path,) = packed_files(store)
    write_record(store, made("a", 2))
    flush = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (flush(handle), os.utime(path, (1, 1))))

    with pytest.raises(StoreError, match="another process packed at the same time"):
        pack(store)

    assert packed_files(store) == [path]
    assert read_record(store, key("a")) == made("a", 2)


def test_an_altered_packed_file_is_an_error_and_packing_loses_nothing(store):
    write_record(store, made("a", 1))
    pack(store)
    (path,) = packed_files(store)
    path.write_bytes(path.read_bytes()[:-100])
    write_record(store, made("a", 2))

    for act in (pack, lambda store: read_record(store, key("a"))):
        with pytest.raises(StoreError, match=r"\.parquet: cannot be read .* Restore it"):
            act(store)

    assert len(loose_names(store)) == 1


# --- killed ------------------------------------------------------------------------------------


@pytest.mark.parametrize("nth", [1, 2, 3])
@pytest.mark.parametrize("step", ["fsync", "replace", "unlink", "rmdir", "chmod"])
def test_a_packer_that_fails_anywhere_neither_loses_nor_duplicates_records(
    store, monkeypatch, step, nth
):
    records = record_all(store, [made(name, second) for name in "abc" for second in range(2)])
    do, calls = getattr(os, step), []

    def fail(*arguments, **rest):
        calls.append(step)
        if len(calls) == nth:
            raise KeyboardInterrupt
        return do(*arguments, **rest)

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(KeyboardInterrupt):
            pack(store)

    last = {record.action: record for record in records if record.execution.started[18] == "1"}
    assert read_records(store, last) == last
    assert asked(store, "select count(*), count(distinct name) from records") == [(6, 2)]
    pack(store)
    assert loose_names(store) == []
    assert len(packed_names(store)) == 6


def test_a_killed_packer_neither_loses_nor_duplicates_records(store):
    records = {}
    for number in range(3):
        more = record_all(store, [made(name, number) for name in range(60)])
        records.update({record.action: record for record in more})
        command = [sys.executable, "-c", PACK_FOREVER, str(store.root)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        deadline = time.monotonic() + 30
        while len(loose_names(store)) == 60 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(random.random() / 10)
        process.send_signal(signal.SIGKILL)
        process.communicate()

        assert read_records(store, records) == records
        assert asked(store, "select count(*) from records") == [(60 * (number + 1),)]
    pack(store)
    assert len(packed_names(store)) == 180


def test_unfinished_files_of_a_killed_packer_are_removed(store):
    write_record(store, made("a"))
    unfinished = store.root / "lineage" / "packed" / ".xyz"
    unfinished.parent.mkdir()
    unfinished.write_bytes(b"half")

    pack(store)

    assert [path.suffix for path in packed_files(store)] == [".parquet"]


def test_readers_and_writers_continue_while_a_packer_runs(store, packer):
    latest = {}
    for second in range(120):
        record = made(second % 20, second)
        write_record(store, record)
        latest[record.action] = record

        assert read_records(store, latest) == latest

    assert packer.poll() is None


# --- in any order ------------------------------------------------------------------------------

WRITES = st.tuples(st.sampled_from("abcd"), st.integers(0, 5))
FAILS = st.tuples(st.sampled_from(["fsync", "replace", "unlink", "rmdir"]), st.integers(0, 4))


def fail_packing(store, step, after):
    """Pack with a fault at the nth call of an operating system function, if it is reached."""
    do, left = getattr(os, step), [None] * after

    def fail(*arguments, **rest):
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return do(*arguments, **rest)

    with patch.object(os, step, fail), contextlib.suppress(KeyboardInterrupt):
        pack(store)


@settings(max_examples=20)
@given(st.lists(WRITES | FAILS | st.just(("pack", 0)), max_size=10))
def test_every_record_is_read_once_after_any_writes_packings_and_failures(steps):
    with tempfile.TemporaryDirectory() as folder:
        store, written = Store(Path(folder)), set()
        for what, number in steps:
            if what == "pack":
                pack(store)
            elif what in "abcd":
                write_record(store, made(what, number))
                written.add((what, number))
            else:
                fail_packing(store, what, number)

            last = {key(name): made(name, second) for name, second in sorted(written)}
            assert read_records(store, map(key, "abcd")) == last
        assert asked(store, "select count(*) from records") == [(len(written),)]


# --- now and then ------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "count"), [(3, 3), (5, 5), (9, 5)])
def test_loose_actions_are_counted_up_to_a_limit(store, limit, count):
    record_all(store, [made(name, second) for name in "abcde" for second in range(2)])

    assert loose_count(store, limit) == count


def test_a_few_loose_records_stay_and_many_are_packed(store):
    record_all(store, [made(name) for name in "abc"])

    assert keep_packed(store, many=3) is None
    assert keep_packed(store, many=2).records == 3
    assert keep_packed(store, many=0) is None


def test_a_run_continues_while_another_process_packs(store, caplog):
    write_record(store, made("a"))

    with (store.root / "lineage" / "packing.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        assert keep_packed(store, many=0) is None
    assert "Lineage records stay loose" in caplog.text
