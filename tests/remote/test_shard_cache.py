import contextlib
import errno
import fcntl
import hashlib
import io
import multiprocessing
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import ConfigError, StoreError
from clipaudit.remote.cache import ShardCache, cache_of, use_cache


def content_of(name, size):
    return (name.encode() * size)[:size]


def sha256(content):
    return hashlib.sha256(content).hexdigest()


class Source:
    """A remote that counts its downloads."""

    def __init__(self, **sizes):
        self.contents = {name: content_of(name, size) for name, size in sizes.items()}
        self.fetched = []

    def download(self, name):
        def write(into):
            self.fetched.append(name)
            into.write(self.contents[name])
            return sha256(self.contents[name])

        return write

    def read(self, cache, name):
        content = self.contents[name]
        with cache.opened(sha256(content), len(content), self.download(name)) as file:
            return file.read()


def held(cache):
    """Return the bytes of the files; another process may remove one after it was listed."""
    sizes = []
    for path in (cache.folder / "shards").iterdir():
        with contextlib.suppress(FileNotFoundError):
            sizes.append(path.stat().st_size)
    return sum(sizes)


def is_cached(cache, source, name):
    return (cache.folder / "shards" / sha256(source.contents[name])).exists()


@pytest.fixture
def cache(tmp_path):
    return ShardCache(tmp_path / "cache", 100)


def test_a_shard_is_fetched_once_and_read_often(cache):
    source = Source(a=40)

    assert [source.read(cache, "a") for _ in range(3)] == [content_of("a", 40)] * 3
    assert source.fetched == ["a"]


def test_the_least_recently_opened_shard_is_removed_first(cache):
    source = Source(a=40, b=40, c=40)
    for name in "aba":
        source.read(cache, name)
        time.sleep(0.01)  # the resolution of the disk's clock

    source.read(cache, "c")

    assert [is_cached(cache, source, name) for name in "abc"] == [True, False, True]


SHARDS = {"a": 10, "b": 30, "c": 50, "d": 70, "e": 100}


@given(reads=st.lists(st.sampled_from(sorted(SHARDS)), max_size=12))
def test_the_limit_holds_whatever_is_read(tmp_path_factory, reads):
    cache = ShardCache(tmp_path_factory.mktemp("cache"), 100)
    source = Source(**SHARDS)

    for name in reads:
        inner = source.download(name)

        def download(into, inner=inner):
            assert held(cache) <= 100  # even during the download
            return inner(into)

        content = source.contents[name]
        cache.opened(sha256(content), len(content), download).close()
        assert held(cache) <= 100
        assert is_cached(cache, source, name)


def test_a_shard_that_is_removed_while_it_is_read_stays_readable(cache):
    source = Source(a=60, b=60)
    content = source.contents["a"]

    with cache.opened(sha256(content), 60, source.download("a")) as file:
        source.read(cache, "b")

        assert not is_cached(cache, source, "a")
        assert file.read() == content


def test_a_shard_larger_than_the_limit_is_refused_before_it_is_fetched(cache):
    source = Source(a=101)

    with pytest.raises(ConfigError, match=r"101 bytes is larger than .* 100 bytes. Raise `remote"):
        source.read(cache, "a")
    assert source.fetched == []


def test_a_failed_download_leaves_no_file_and_no_reservation(cache):
    def fail(into):
        into.write(b"some")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.opened("0" * 64, 80, fail)

    assert held(cache) == 0


def test_the_rest_of_a_killed_download_is_removed_first(cache):
    source = Source(a=60, b=60)
    source.read(cache, "a")
    (cache.folder / "shards" / "dead.part").write_bytes(bytes(40))

    source.read(cache, "a")
    source.read(cache, "b")

    assert held(cache) == 60
    assert not (cache.folder / "shards" / "dead.part").exists()


def test_a_cached_file_of_another_length_is_fetched_again(cache):
    source = Source(a=40)
    source.read(cache, "a")
    os.truncate(cache.folder / "shards" / sha256(source.contents["a"]), 3)

    assert source.read(cache, "a") == content_of("a", 40)


def test_a_download_is_on_disk_before_it_counts_as_whole(cache, monkeypatch):
    source, steps = Source(a=40), []
    fsync, replace = os.fsync, os.replace

    def flushed(handle):
        steps.append(os.pread(handle, 100, 0))
        fsync(handle)

    def replaced(*paths):
        steps.append("replaced")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", replaced)
    source.read(cache, "a")

    assert steps == [source.contents["a"], "replaced"]


def test_two_downloads_at_once_need_only_locks_that_nfs_has(cache, monkeypatch):
    source, flock = Source(a=40, b=40), fcntl.flock

    def of_nfs(file, how):
        if how & fcntl.LOCK_EX and not file.writable():  # flock(2), "NFS details"
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(file, how)

    monkeypatch.setattr(fcntl, "flock", of_nfs)

    def download(into):  # another download begins before this one ends
        assert source.read(cache, "b") == source.contents["b"]
        return source.download("a")(into)

    cache.take("a", 40, download)

    assert source.read(cache, "a") == source.contents["a"]


def test_a_shard_of_unknown_hash_is_named_by_its_bytes(cache):
    source = Source(a=40)

    found = cache.take("s3://bucket/a.tar", 40, source.download("a"))

    assert found == sha256(source.contents["a"])
    assert source.read(cache, "a") == source.contents["a"]
    assert source.fetched == ["a"]


def fetch_slowly(folder, names, log):
    """Read shards in a separate process; log each download."""
    cache = ShardCache(folder, 100)
    source = Source(a=40, b=40, c=40)
    for name in names:
        content = source.contents[name]

        def download(into, name=name, content=content):
            with log.open("a") as file:
                file.write(name)
            time.sleep(0.05)
            assert held(cache) <= 100
            into.write(content)
            return sha256(content)

        with cache.opened(sha256(content), 40, download) as file:
            assert file.read() == content


def in_processes(folder, log, *orders):
    context = multiprocessing.get_context("fork")
    processes = [
        context.Process(target=fetch_slowly, args=(folder, names, log)) for names in orders
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def test_processes_that_need_the_same_shard_fetch_it_once(tmp_path):
    log = tmp_path / "log"

    assert in_processes(tmp_path / "cache", log, "a", "a", "a") == [0, 0, 0]
    assert log.read_text() == "a"


def test_processes_that_need_many_shards_wait_for_space_and_all_finish(tmp_path):
    codes = in_processes(tmp_path / "cache", tmp_path / "log", "abcabc", "cbacba", "bacbac")

    assert codes == [0, 0, 0]
    assert held(ShardCache(tmp_path / "cache", 100)) <= 100


def test_the_cache_is_in_the_store_unless_the_environment_sets_another_folder(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("CLIPAUDIT_CACHE", "")  # as if not set; restored after the test
    monkeypatch.setenv("CLIPAUDIT_CACHE_GIGABYTES", "")
    assert cache_of(tmp_path).folder == tmp_path / "cache"
    assert cache_of(tmp_path).limit == 50_000_000_000

    monkeypatch.setenv("SCRATCH_OF_NODE", str(tmp_path / "scratch"))
    use_cache("$SCRATCH_OF_NODE/shards", 0.5)

    assert cache_of(tmp_path).folder == tmp_path / "scratch/shards"
    assert cache_of(tmp_path).limit == 500_000_000


def test_an_unset_variable_is_refused(monkeypatch):
    monkeypatch.setenv("CLIPAUDIT_CACHE_GIGABYTES", "1")
    monkeypatch.delenv("NO_SUCH_SCRATCH", raising=False)

    with pytest.raises(ConfigError, match=r"\$NO_SUCH_SCRATCH/x names a variable that is not set"):
        use_cache("$NO_SUCH_SCRATCH/x", 1)


def test_a_limit_that_is_not_a_number_is_refused(monkeypatch):
    monkeypatch.setenv("CLIPAUDIT_CACHE_GIGABYTES", "much")

    with pytest.raises(ConfigError, match="CLIPAUDIT_CACHE_GIGABYTES='much': not a number"):
        cache_of(Path("store"))


def test_a_folder_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=r"file/cache: the cache of remote shards cannot be used"):
        Source(a=4).read(ShardCache(tmp_path / "file/cache", 100), "a")


def test_a_full_disk_is_distinguished_from_a_network_error(cache):
    from clipaudit.remote.fetching import _write

    class Full(io.BytesIO):
        def write(self, block):
            raise OSError(28, "No space left on device")

    with pytest.raises(StoreError, match=r"s3://b/0.tar: the cache cannot hold it \(No space"):
        _write("s3://b/0.tar", b"x", Full())
