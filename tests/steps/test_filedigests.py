import errno
import hashlib
import multiprocessing
import os

import pytest

from clipaudit.errors import InputError, StoreError
from clipaudit.steps import filedigests
from clipaudit.steps.filedigests import FileDigests
from clipaudit.store.store import Store

OLD = 1_600_000_000_000_000_000  # ns; long before now, so that a record is trusted


@pytest.fixture
def files(tmp_path):
    return FileDigests(tmp_path / "records")


@pytest.fixture
def reads(monkeypatch):
    """Count how often a file is read."""
    seen = []
    read = filedigests.file_sha256
    monkeypatch.setattr(filedigests, "file_sha256", lambda path: seen.append(path) or read(path))
    return seen


def write(path, content, mtime=OLD):
    path.write_bytes(content)
    os.utime(path, ns=(mtime, mtime))
    return path


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_an_unchanged_file_is_read_once(files, tmp_path, reads):
    path = write(tmp_path / "a.tar", b"one")

    digests = [files.digest(path) for _ in range(3)]

    assert digests == [sha256(b"one")] * 3
    assert len(reads) == 1


def test_a_file_just_written_is_read_again(files, tmp_path, reads):
    """A file written twice within the clock's resolution would look unchanged."""
    (tmp_path / "a.tar").write_bytes(b"one")

    for _ in range(2):
        files.digest(tmp_path / "a.tar")

    assert len(reads) == 2


def test_a_touched_file_is_read_once_more(files, tmp_path, reads):
    path = write(tmp_path / "a.tar", b"one")
    files.digest(path)
    os.utime(path, ns=(OLD + 1, OLD + 1))

    found = [files.locate(sha256(b"one")) for _ in range(3)]

    assert found == [path] * 3
    assert len(reads) == 2


def test_changed_content_is_detected(files, tmp_path):
    path = write(tmp_path / "a.tar", b"one")
    files.digest(path)
    write(path, b"two", OLD + 1)

    with pytest.raises(InputError, match=rf"a.tar: its SHA-256 is now {sha256(b'two')}.*indexed"):
        files.locate(sha256(b"one"))
    assert files.locate(sha256(b"two")) == path


def test_a_missing_file_is_named(files, tmp_path):
    path = write(tmp_path / "a.tar", b"one")
    files.digest(path)
    path.unlink()

    with pytest.raises(
        InputError, match=r"a.tar: the file cannot be read .*rerun so that the shard"
    ):
        files.locate(sha256(b"one"))


def test_a_copy_replaces_a_missing_file(files, tmp_path):
    paths = [write(tmp_path / name, b"one") for name in ("a.tar", "b.tar")]
    for path in paths:
        files.digest(path)
    paths[0].unlink()

    assert files.locate(sha256(b"one")) == paths[1]


def test_unknown_digests_are_named(files):
    with pytest.raises(InputError, match=r"no file with SHA-256 ff.*has no record of one"):
        files.locate("ff" * 32)


def test_relative_paths_are_remembered_as_absolute(files, tmp_path, monkeypatch):
    path = write(tmp_path / "a.tar", b"one")
    monkeypatch.chdir(tmp_path)
    files.digest(type(path)("a.tar"))
    monkeypatch.chdir("/")

    assert files.locate(sha256(b"one")) == path


def test_odd_names_work(files, tmp_path):
    path = write(tmp_path / "größe \udcff'\".tar", b"one")
    files.digest(path)

    assert files.locate(sha256(b"one")) == path


def test_a_record_truncated_by_a_crash_is_rewritten(files, tmp_path, reads):
    path = write(tmp_path / "a.tar", b"one")
    files.digest(path)
    for record in (tmp_path / "records" / "paths").iterdir():
        record.write_bytes(record.read_bytes()[:10])

    assert files.digest(path) == sha256(b"one")
    assert len(reads) == 2


def test_a_file_that_changes_during_the_read_is_refused(files, tmp_path, monkeypatch):
    path = write(tmp_path / "a.tar", b"one")
    longer = lambda path: write(path, b"longer") and "0" * 64  # noqa: E731
    monkeypatch.setattr(filedigests, "file_sha256", longer)

    with pytest.raises(InputError, match=r"a.tar: the file changed during the read"):
        files.digest(path)


def test_a_record_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "records").write_bytes(b"a file where a folder should be")

    with pytest.raises(StoreError, match="record cannot be"):
        FileDigests(tmp_path / "records").digest(write(tmp_path / "a.tar", b"one"))


def test_a_file_is_found_although_its_record_cannot_be_written(files, tmp_path, monkeypatch):
    path = write(tmp_path / "a.tar", b"one")
    files.digest(path)
    os.utime(path, ns=(OLD + 1, OLD + 1))
    monkeypatch.setattr(filedigests, "replace_text", full_disk)

    assert files.locate(sha256(b"one")) == path
    with pytest.raises(StoreError, match=r"record cannot be written \(No space left"):
        files.digest(path)


def full_disk(path, text):
    raise OSError(errno.ENOSPC, "No space left on device")


def _digest_all(directory, paths):
    for path in paths:
        FileDigests(directory).digest(path)


def test_many_processes_can_share_the_records(files, tmp_path):
    paths = [write(tmp_path / f"{n}.tar", bytes([n]) * 99) for n in range(12)]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_digest_all, args=(files.directory, paths)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert [files.locate(sha256(bytes([n]) * 99)) for n in range(12)] == paths
    assert not list(files.directory.rglob(".*"))


def test_an_object_of_the_store_is_found_by_its_sha256(tmp_path):
    store = Store(tmp_path / "store")
    digest = store.put_bytes(b"one", schema="tar").digest

    assert FileDigests(store.root / "files").locate(digest) == store.path(digest).absolute()


def test_an_object_whose_bytes_changed_is_not_used(tmp_path):
    store = Store(tmp_path / "store")
    digest = store.put_bytes(b"one", schema="tar").digest
    store.path(digest).chmod(0o600)
    store.path(digest).write_bytes(b"two")

    with pytest.raises(InputError, match=f"no file with SHA-256 {digest}.*is now"):
        FileDigests(store.root / "files").locate(digest)
