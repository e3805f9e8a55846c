import fcntl
import json

import pytest
from click.testing import CliRunner
from maderecords import made, record_all

from clipaudit.cli.compact import compact
from clipaudit.cli.options import Group
from clipaudit.store.store import Store

group = Group(commands=[compact])


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    record_all(store, [made("a", 1), made("a", 2)])
    return store


def run(*arguments):
    return CliRunner().invoke(group, ["compact", *map(str, arguments)])


def test_compact_reports_what_it_packed(store):
    answer = run("--store", store.root)

    assert answer.exit_code == 0
    assert answer.stdout.startswith("2 loose records of 2,")
    assert "packed into 1 file, now " in answer.stdout
    assert answer.stderr == ""


def test_compact_again_has_nothing_to_do(store):
    run("--store", store.root)

    answer = run("--store", store.root)

    assert answer.stdout == "no loose records\n"


def test_compact_reports_files_that_are_not_records(store):
    (path, _) = (store.root / "lineage").rglob("*.json")
    path.write_text("")

    answer = run("--store", store.root)

    assert answer.exit_code == 0
    assert answer.stdout.startswith("1 loose record of 1,")
    assert f"{path}: not a lineage record" in answer.stderr


def test_compact_yields_to_another_packer(store):
    with (store.root / "lineage" / "packing.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        answer = run("--store", store.root)

    assert answer.exit_code == 1
    assert "packing.lock: another process is packing this store's records" in answer.stderr
    assert "Traceback" not in answer.output


def test_a_store_that_does_not_exist_is_wrong_usage():
    answer = run("--store", "gone")

    assert answer.exit_code == 2
    assert "Directory 'gone' does not exist" in answer.stderr


def test_json_counts_what_was_packed(store):
    done = json.loads(run("--store", store.root, "--format", "json").stdout)

    assert (done["records"], done["files"], done["faults"]) == (2, 1, [])
