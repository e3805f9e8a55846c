import errno
import os
import shutil
import threading
import time

import pytest

from clipaudit.errors import StoreError
from clipaudit.store.store import Pointer, Store, link_object, put_back, replace_text


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def alter(path, content, *, keep_time=False):
    """Change a stored object without the store's knowledge, like a bad disk or a careless user."""
    status = path.stat()
    os.chmod(path, 0o644)
    path.write_bytes(content)
    if keep_time:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_an_object_is_named_by_its_content_and_read_only(store):
    pointer = store.put_bytes(b"abc", schema="text")

    assert pointer.digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    path = store.checked_path(pointer)
    assert path.read_bytes() == b"abc"
    assert path.stat().st_mode & 0o777 == 0o444


def test_pointer_text_is_a_function_of_content():
    text = Pointer("ab", rows=2, bytes=3, schema="samples").to_json()

    assert text == '{"bytes": 3, "digest": "ab", "rows": 2, "schema": "samples"}\n'


@pytest.mark.parametrize("content", [b"ab", b"abcd", b"xyz"])
def test_an_altered_object_is_never_returned(store, content):
    pointer = store.put_bytes(b"abc", schema="text")
    alter(store.path(pointer.digest), content)

    with pytest.raises(StoreError, match="verify --repair --configfile SETTINGS` computes it"):
        store.checked_path(pointer)


def test_an_object_altered_with_its_old_time_is_found_by_hashing(store):
    pointer = store.put_bytes(b"abc", schema="text")
    alter(store.path(pointer.digest), b"xyz", keep_time=True)

    assert store.fault(pointer) is None
    assert "but its name is ba7816bf8f01" in store.fault(pointer, rehash=True)


def test_an_object_from_another_machine_is_hashed_before_use(store, monkeypatch):
    pointer = store.put_bytes(b"abc", schema="text")
    alter(store.path(pointer.digest), b"xyz", keep_time=True)
    monkeypatch.setattr("platform.node", lambda: "another-machine")

    with pytest.raises(StoreError, match="its content is"):
        store.checked_path(pointer)


def test_storing_again_repairs_an_altered_object(store):
    pointer = store.put_bytes(b"abc", schema="text")
    alter(store.path(pointer.digest), b"ab")

    assert store.put_bytes(b"abc", schema="text") == pointer
    assert store.checked_path(pointer).read_bytes() == b"abc"


def test_storing_again_keeps_an_intact_object_in_place_but_makes_it_young(store):
    pointer = store.put_bytes(b"abc", schema="text")
    path = store.path(pointer.digest)
    os.utime(path, (1, 1))
    before = path.stat().st_ino

    store.put_bytes(b"abc", schema="text")

    assert path.stat().st_ino == before
    assert path.stat().st_mtime > time.time() - 60


def test_an_object_made_young_need_not_be_hashed_again(store):
    pointer = store.put_bytes(b"abc", schema="text")
    store.put_bytes(b"abc", schema="text")
    alter(store.path(pointer.digest), b"xyz", keep_time=True)

    assert store.fault(pointer) is None  # its time was trusted


def test_damage_found_by_hashing_is_not_forgotten(store):
    pointer = store.put_bytes(b"abc", schema="text")
    alter(store.path(pointer.digest), b"xyz", keep_time=True)

    assert store.flaw(pointer, rehash=True).damage == "corrupt"
    assert store.flaw(pointer).damage == "corrupt"


def test_a_memo_that_cannot_be_written_costs_only_one_read(store):
    pointer = store.put_bytes(b"abc", schema="text")
    shutil.rmtree(store.root / "seen")
    (store.root / "seen").write_text("in the way")

    assert store.fault(pointer) is None


def condemned(store, pointer):
    """Move the object where a collection moves it aside."""
    aside = store.root / "condemned/host-1-2" / store.path(pointer.digest).relative_to(store.root)
    aside.parent.mkdir(parents=True)
    os.rename(store.path(pointer.digest), aside)
    return aside


def test_an_object_that_a_collection_moved_aside_is_restored_by_its_reader(store):
    pointer = store.put_bytes(b"abc", schema="text")
    aside = condemned(store, pointer)

    assert store.checked_path(pointer).read_bytes() == b"abc"
    assert not aside.exists()


def test_a_rewritten_object_is_kept_when_the_old_one_is_restored(store):
    pointer = store.put_bytes(b"abc", schema="text")
    aside = condemned(store, pointer)
    store.put_bytes(b"abc", schema="text")
    new = store.path(pointer.digest).stat().st_ino

    assert put_back(aside, store.path(pointer.digest))
    assert store.path(pointer.digest).stat().st_ino == new
    assert not aside.exists()


def test_a_missing_object_is_an_error_that_says_what_to_do(store):
    pointer = store.put_bytes(b"abc", schema="text")
    store.path(pointer.digest).unlink()

    with pytest.raises(StoreError, match=r"the object is missing. `clipaudit verify --repair"):
        store.checked_path(pointer)


def test_a_failed_write_leaves_nothing(store):
    def fail(path):
        path.write_bytes(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        store.put(fail, schema="text")

    assert [path for path in store.root.rglob("*") if path.is_file()] == []


def test_many_writers_of_one_object_do_no_harm(store):
    content = b"x" * 100_000
    threads = [
        threading.Thread(target=store.put_bytes, args=(content,), kwargs={"schema": "x"})
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    pointer = store.put_bytes(content, schema="x")
    assert store.fault(pointer, rehash=True) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"digest": "ab"}'])
def test_a_file_that_is_not_a_pointer_is_refused(tmp_path, text):
    path = tmp_path / "pointer.json"
    path.write_text(text)

    with pytest.raises(StoreError, match="not a pointer"):
        Pointer.read(path)


def test_a_pointer_that_cannot_be_read_is_an_error_that_says_so(tmp_path):
    with pytest.raises(StoreError, match=r"cannot be read \(Is a directory\)"):
        Pointer.read(tmp_path)


def test_links_are_relative_and_replaced_atomically(tmp_path):
    link = tmp_path / "results" / "a.parquet"
    link_object(link, tmp_path / "store" / "one")
    link_object(link, tmp_path / "store" / "two")

    assert os.readlink(link) == "../store/two"


@pytest.mark.parametrize("moved", ["results", "store"])
def test_links_lead_to_the_object_if_a_folder_is_itself_a_link(tmp_path, moved):
    (tmp_path / "scratch/deep" / moved).mkdir(parents=True)
    (tmp_path / moved).symlink_to(f"scratch/deep/{moved}")
    pointer = Store(tmp_path / "store").put_bytes(b"rows", schema="x")

    link = tmp_path / "results/tables/a.parquet"
    link_object(link, Store(tmp_path / "store").path(pointer.digest))

    assert link.read_bytes() == b"rows"


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
def test_a_disk_without_symbolic_links_is_one_message(tmp_path, monkeypatch, number):
    def refuse(path, target):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(type(tmp_path), "symlink_to", refuse)

    with pytest.raises(
        StoreError, match=r"/results: this disk has no symbolic links .*Keep both on another"
    ):
        link_object(tmp_path / "results/a.parquet", tmp_path / "store/one")


def test_a_small_text_is_replaced_completely(tmp_path):
    path = tmp_path / "deep" / "file.json"
    replace_text(path, "old")
    replace_text(path, "new")

    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["file.json"]
