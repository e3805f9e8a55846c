"""Full and read-only disks: no half-written files, and a message with the next step."""

import errno
import logging
import resource
import sys
from contextlib import suppress
from hashlib import sha256
from types import SimpleNamespace

import click
import duckdb
import pytest
from click.testing import CliRunner
from smalldisks import needs_mounts, on_a_small_disk, read_only

from clipaudit.cli.options import Group
from clipaudit.steps.workflow import LogFile, code, reporting
from clipaudit.store.actions import ActionInput, Ingredients
from clipaudit.store.disks import disk_error
from clipaudit.store.placements import Placement, place
from clipaudit.store.records import Execution, Record, write_record
from clipaudit.store.store import Store, link_object, replace_text

FILL = """
import errno, os, sys
from pathlib import Path
from clipaudit.store.store import Store

store = Store(Path(sys.argv[1]))
first = store.put_bytes(b"first", schema="x")
for _ in range(100):
    try:
        store.put_bytes(os.urandom(20_000), schema="x")
    except OSError as error:
        assert error.errno == errno.ENOSPC
        break
assert not list(store.root.glob("unfinished/*")), "something half-written stayed"
assert store.fault(first, rehash=True) is None
next(path for path in store.root.glob("objects/*/*") if path.stat().st_size > 5).unlink()
again = store.put_bytes(b"again" * 1000, schema="x")
assert store.fault(again, rehash=True) is None
print("whole")
"""


@needs_mounts
def test_a_full_store_has_intact_objects_and_accepts_more_after_space_is_freed(tmp_path):
    done = on_a_small_disk(
        tmp_path / "disk", 500_000, sys.executable, "-c", FILL, tmp_path / "disk"
    )

    assert (done.stdout, done.returncode) == ("whole\n", 0), done.stderr


@pytest.fixture
def run(tmp_path):
    """Return a results folder of one pointer and its store."""
    store = Store(tmp_path / "store")
    pointer = store.put_bytes(b"content", schema="x")
    link_object(tmp_path / "results/here.bin", store.path(pointer.digest))
    replace_text(tmp_path / "results/here.json", pointer.to_json())
    (tmp_path / "results/.actions").mkdir()
    return tmp_path


def clipaudit(run, *arguments):
    program = "from clipaudit.cli import main; main()"
    return [sys.executable, "-c", program, *arguments, "--store", run / "store"]


@needs_mounts
def test_a_read_only_store_can_be_verified(run):
    command = clipaudit(run, "verify", "--results", run / "results")

    done = read_only(run / "store", *command)

    assert done.returncode == 0, done.stderr
    assert "all as they were written" in done.stdout


@needs_mounts
def test_a_file_without_a_record_is_verified_in_a_read_only_store(run):
    (run / "0.tar").write_text("shard")
    inputs = {"tars": [ActionInput(sha256(b"shard").hexdigest(), str(run / "0.tar"))]}
    ran = Execution("2026-01-01T00:00:00", 1.0, "host", 100, 1, {}, {})
    made_of = Ingredients("index", "code", {}, inputs, {})
    write_record(Store(run / "store"), Record("a" * 64, made_of, {}, {}, ran))
    place(run / "results", run / "results/here.json", Placement("a" * 64, "here", {}))

    done = read_only(run / "store", *clipaudit(run, "verify", "--results", run / "results"))

    assert (done.returncode, "unverifiable" in done.stdout) == (0, False), done.stderr


@needs_mounts
def test_writing_to_a_read_only_store_is_one_message(run):
    command = clipaudit(run, "pin", "mine", "--results", run / "results")

    done = read_only(run / "store", *command)

    assert done.returncode == 1
    assert (
        "Read-only file system. Mount it for writing, or put results and store elsewhere"
        in done.stderr
    )
    assert "Traceback" not in done.stderr


FULL = OSError(errno.ENOSPC, "No space left on device")


def job_of(rule):
    config = {"store": "my-store", "results": "my-results"}
    params = SimpleNamespace(code=code(rule), get=lambda name, default: default)
    return SimpleNamespace(threads=1, log=[], rule=rule, params=params, config=config)


def test_a_step_on_a_full_disk_fails_with_one_message(capsys):
    with pytest.raises(SystemExit, match="1"), reporting(job_of("keep_all")):
        raise FULL

    said = capsys.readouterr().err
    assert said.startswith("clipaudit: keep_all: my-store, my-results or the temporary folder: No ")
    assert "Free some space there, and start the same command again" in said


def test_a_log_on_a_full_disk_prints_no_traceback(capsys):
    log = LogFile("/dev/full", mode="w")
    log.handle(logging.makeLogRecord({"msg": "stopped"}))
    with suppress(OSError):
        log.close()

    assert capsys.readouterr().err == ""


def test_a_log_prints_other_errors_of_a_line(capsys, tmp_path):
    log = LogFile(tmp_path / "log", mode="w")
    log.handle(logging.makeLogRecord({"msg": "stopped", "args": ("no place for it",)}))
    log.close()

    assert "TypeError: not all arguments converted" in capsys.readouterr().err


def test_a_step_stopped_by_ctrl_c_prints_no_traceback(capsys):
    with pytest.raises(SystemExit, match="130"), reporting(job_of("keep_all")):
        raise KeyboardInterrupt

    assert capsys.readouterr().err == ""


def test_a_command_on_a_full_disk_fails_with_one_message():
    @click.command()
    def fill():
        raise FULL

    done = CliRunner().invoke(Group(commands=[fill]), ["fill"])

    assert done.exit_code == 1
    assert "No space left on device. Free some space" in done.stderr


FILL_BY_DUCKDB = """
import sys
import duckdb
from clipaudit.store.disks import disk_error

try:
    with duckdb.connect(sys.argv[1] + "/audit.duckdb") as catalog:
        catalog.execute("create table t as select hash(range) from range(1000000)")
except duckdb.Error as error:
    print(disk_error(error, among="the catalog"))
"""


@needs_mounts
def test_duckdb_on_a_full_disk_fails_with_one_message(tmp_path):
    disk = tmp_path / "disk"

    done = on_a_small_disk(disk, 300_000, sys.executable, "-c", FILL_BY_DUCKDB, disk)

    assert f'"{disk}/audit.duckdb": No space left on device. Free some space there' in done.stdout


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file", "x"),
        duckdb.IOException("IO Error: no such file x"),
        ValueError("No space left on device"),
    ],
)
def test_an_error_of_another_kind_is_not_a_disk_error(error):
    assert disk_error(error, among="x") is None


def test_the_path_is_reported_if_the_error_has_one():
    told = disk_error(PermissionError(errno.EACCES, "Permission denied", "/a/b"), among="x")

    assert str(told).startswith("/a/b: Permission denied. Give this user permission for it, and")


def test_a_file_above_the_limit_of_the_process_is_one_message(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as refused:
            Store(tmp_path).put_bytes(bytes(2_000), schema="x")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert str(disk_error(refused.value, among="the store")).startswith(
        "the store: File too large. Allow larger files (`ulimit -f`), or use a disk that"
    )
