import logging
import os
import stat

import pytest

from clipaudit.errors import StoreError
from clipaudit.store import sharing
from clipaudit.store.actions import ActionCache, ActionOutput, Ingredients
from clipaudit.store.code_records import CodeRecord, read_code, write_code
from clipaudit.store.records import Execution, Record, read_record, write_record
from clipaudit.store.roots import roots
from clipaudit.store.sharing import GroupStore, group_rights
from clipaudit.store.store import Store, link_object

MADE_OF = Ingredients("train", "c0de", {}, {}, {})
KEY = MADE_OF.key()


def compute(store, content=b"weights"):
    """Write to a store what a step writes; return its outputs."""
    outputs = {"model": ActionOutput(store.put_bytes(content, schema="x"), ".safetensors")}
    ran = Execution("2026-01-01T00:00:00.000+00:00", 1.0, "node", 1, 1, {}, {}, owner="ada")
    write_record(store, Record(KEY, MADE_OF, outputs, {}, ran))
    write_code(store, "c0de", CodeRecord({"script train": "ab"}, {}))
    ActionCache(store).record(KEY, outputs)
    return outputs


def files(root):
    """Return all paths in a folder and their modification times."""
    return {path: path.lstat().st_mtime_ns for path in root.rglob("*")}


@pytest.fixture
def own(tmp_path):
    return Store(tmp_path / "own")


@pytest.fixture
def group(tmp_path):
    store = Store(tmp_path / "group")
    compute(store)
    return store


def test_results_of_others_are_taken_with_their_records(own, group):
    outputs = GroupStore(group.root).take(own, KEY)

    assert own.checked_path(outputs["model"].pointer).read_bytes() == b"weights"
    assert ActionCache(own).find(KEY) == outputs
    assert read_record(own, KEY).execution.owner == "ada"
    assert read_code(own, "c0de") == read_code(group, "c0de")


def test_taking_changes_nothing_in_the_groups_store(own, group):
    before = files(group.root)

    GroupStore(group.root, write=True).take(own, KEY)
    ActionCache(own).find(KEY)

    assert files(group.root) == before


def test_a_taken_object_is_not_copied(own, group):
    outputs = GroupStore(group.root).take(own, KEY)

    path = own.path(outputs["model"].pointer.digest)
    assert os.path.realpath(path) == str(group.path(outputs["model"].pointer.digest))


def test_an_action_that_nobody_stored_is_not_taken(own, group):
    assert GroupStore(group.root).take(own, "ab" * 32) is None


def test_an_action_with_an_unreadable_record_is_computed(own, group, caplog):
    (record,) = (group.root / "lineage" / KEY[:2] / KEY[2:]).iterdir()
    record.write_text("")  # a power cut

    assert GroupStore(group.root).take(own, KEY) is None
    assert "not a lineage record" in caplog.text
    assert ActionCache(own).find(KEY) is None


@pytest.mark.parametrize(("trusted", "taken"), [(["ada"], False), (["ada", "grace"], True)])
def test_only_results_of_a_trusted_writer_are_taken(
    own, group, monkeypatch, caplog, trusted, taken
):
    monkeypatch.setattr(sharing, "user_name", lambda uid: "grace")
    caplog.set_level(logging.INFO)

    outputs = GroupStore(group.root, trusted_writers=trusted).take(own, KEY)

    assert (outputs is not None) == taken
    assert ("grace, who is not in shared_store.trusted_writers" in caplog.text) != taken


def test_an_altered_object_is_not_taken_and_leaves_nothing_behind(own, group, caplog):
    path = group.path(compute(group)["model"].pointer.digest)
    path.chmod(0o644)
    path.write_bytes(b"w3ights")

    assert GroupStore(group.root).take(own, KEY) is None
    assert "cannot be used: its content is" in caplog.text
    assert not own.has(path.parent.name + path.name)


@pytest.mark.parametrize(("content", "said"), [(None, "is missing"), (b"w", "has 1 bytes instead")])
def test_an_incomplete_object_is_not_offered(group, caplog, content, said):
    path = group.path(compute(group)["model"].pointer.digest)
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    assert GroupStore(group.root).offer(KEY) is None
    assert said in caplog.text


def test_a_link_to_the_old_place_of_the_groups_store_is_restored(own, group, tmp_path):
    GroupStore(group.root).take(own, KEY)
    group.root.rename(tmp_path / "moved")

    outputs = GroupStore(tmp_path / "moved").take(own, KEY)

    assert own.checked_path(outputs["model"].pointer).read_bytes() == b"weights"


def test_a_computed_result_is_given_once_and_protected_from_collections(own, tmp_path):
    (tmp_path / "group").mkdir()
    shared = GroupStore(tmp_path / "group", write=True)
    compute(own)

    shared.give(own, KEY, tmp_path / "results")
    before = files(tmp_path / "group")
    shared.give(own, KEY, tmp_path / "results")

    assert shared.offer(KEY) == ActionCache(own).recorded(KEY)
    assert roots(shared.store) == [tmp_path / "results"]
    assert files(tmp_path / "group") == before


def test_a_full_disk_of_the_group_fails_no_job(own, group, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(sharing.shutil, "copyfile", full)
    outputs = compute(own, b"other weights")
    ActionCache(group).file(KEY).unlink()

    GroupStore(group.root, write=True).give(own, KEY, group.root.parent / "results")

    assert "No space left on device: results stay only in" in caplog.text
    assert ActionCache(own).find(KEY) == outputs


def test_a_store_that_is_not_mounted_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"away: no such folder\. Mount its disk"):
        GroupStore(tmp_path / "away")


@pytest.mark.parametrize(("mode", "group_may"), [(0o2775, True), (0o755, False)])
def test_folders_are_group_writable_if_the_store_is(tmp_path, mode, group_may):
    tmp_path.chmod(mode)

    with group_rights(tmp_path):
        Store(tmp_path).put_bytes(b"x", schema="x")

    made = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert made
    assert {bool(path.stat().st_mode & stat.S_IWGRP) for path in made} == {group_may}


def test_a_results_folder_links_a_taken_object_like_any_other(own, group, tmp_path):
    pointer = GroupStore(group.root).take(own, KEY)["model"].pointer

    link_object(tmp_path / "results/model.safetensors", own.path(pointer.digest))

    assert (tmp_path / "results/model.safetensors").read_bytes() == b"weights"
