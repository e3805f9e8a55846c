import os
import subprocess
import sys
import tempfile

import pytest
from maderecords import key, made, record_all

from clipaudit.errors import StoreError
from clipaudit.store.packing import pack
from clipaudit.store.records import read_record, read_records, write_record
from clipaudit.store.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture(params=["loose", "packed"])
def settle(request, store):
    """Leave the records loose, or pack them."""
    return (lambda: None) if request.param == "loose" else (lambda: pack(store))


def test_a_record_is_read_as_it_was_written(store, settle):
    record = made("a", seed="7")

    write_record(store, record)
    settle()

    assert read_record(store, key("a")) == record


def test_the_last_execution_is_the_record_of_an_action(store, settle):
    records = record_all(store, [made("a", second) for second in (3, 59, 61, 7)])
    settle()

    assert read_record(store, key("a")) == records[2]


def test_many_records_come_in_the_requested_order_without_missing_ones(store, settle):
    record_all(store, [made(name) for name in "abc"])
    settle()

    found = read_records(store, [key("c"), key("gone"), key("a"), key("c")])

    assert list(found) == [key("c"), key("a")]
    assert found[key("a")] == made("a")


def test_the_later_of_a_loose_and_a_packed_record_wins(store):
    record_all(store, [made("a", 1), made("b", 2)])
    pack(store)
    record_all(store, [made("a", 2), made("b", 1)])

    found = read_records(store, [key("a"), key("b")])

    assert found == {key("a"): made("a", 2), key("b"): made("b", 2)}


def test_an_action_without_a_record_is_an_error_that_names_it(store, settle):
    settle()

    with pytest.raises(StoreError, match=f"no lineage record of action {key('a')}, loose or"):
        read_record(store, key("a"))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"action": "a"}'])
def test_a_damaged_record_is_an_error_that_says_what_to_do(store, text):
    write_record(store, made("a"))
    (path,) = (store.root / "lineage").rglob("*.json")
    path.write_text(text)

    with pytest.raises(StoreError, match=r"\.json: not a lineage record .* Remove it"):
        read_record(store, key("a"))


def test_a_file_that_is_being_written_is_not_a_record(store):
    write_record(store, made("a"))
    folder = store.root / "lineage" / key("a")[:2] / key("a")[2:]
    (folder / ".2026.json.xyz.json").write_text("{")

    assert read_records(store, [key("a")]) == {key("a"): made("a")}


def test_a_record_is_written_even_if_a_packer_removes_its_folder(store, monkeypatch):
    make, removed = tempfile.mkstemp, []

    def remove_first(dir, **rest):
        if len(removed) < 3:
            removed.append(os.rmdir(dir))
        return make(dir=dir, **rest)

    monkeypatch.setattr(tempfile, "mkstemp", remove_first)

    write_record(store, made("a"))

    assert len(removed) == 3
    assert read_record(store, key("a")) == made("a")


def test_recording_does_not_import_pyarrow(store):
    program = "import sys, clipaudit.store.records\nprint('pyarrow' in sys.modules)\n"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout == "False\n", done.stderr
