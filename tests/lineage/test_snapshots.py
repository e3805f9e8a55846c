import pytest

from clipaudit.errors import InputError
from clipaudit.lineage.placements import Placement, place
from clipaudit.lineage.snapshots import pin, pinned, pins, snapshot, unpin
from clipaudit.store import Store, replace_text


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


@pytest.fixture
def results(tmp_path, store):
    pointer = store.put_bytes(b"content", schema="x")
    path = tmp_path / "results/stage/here.json"
    place(tmp_path / "results", path, Placement("aa", "out", {"corpus": "large"}))
    replace_text(path, pointer.to_json())
    return tmp_path / "results"


def test_a_snapshot_names_what_lies_where_and_who_put_it_there(results):
    (placed,) = snapshot(results).placed.values()

    assert placed.placement == Placement("aa", "out", {"corpus": "large"})
    assert placed.pointer.bytes == len(b"content")


def test_a_pin_keeps_a_snapshot_as_it_was(store, results):
    before = snapshot(results)

    pin(store, "first", before)
    (results / "stage/here.json").unlink()

    assert pinned(store, "first") == before
    assert pins(store) == ["first"]


def test_a_name_that_is_taken_is_refused(store, results):
    pin(store, "first", snapshot(results))

    with pytest.raises(InputError, match=r"a pin first exists\. Remove it first"):
        pin(store, "first", snapshot(results))


@pytest.mark.parametrize("name", ["", "../out", "a/b", ".hidden", "x" * 101])
def test_what_cannot_be_a_file_of_ours_is_no_name(store, results, name):
    with pytest.raises(InputError, match="cannot name a pin"):
        pin(store, name, snapshot(results))


def test_an_unknown_pin_is_answered_by_the_nearest_name(store, results):
    pin(store, "before-ocr", snapshot(results))

    with pytest.raises(InputError, match=r"no pin 'before-orc'\. Did you mean before-ocr\?"):
        unpin(store, "before-orc")


def test_an_unpinned_name_is_free_again(store, results):
    pin(store, "first", snapshot(results))

    unpin(store, "first")

    assert pins(store) == []
