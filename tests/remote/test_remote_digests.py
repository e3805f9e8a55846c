import hashlib

import pytest

from clipaudit.corpora.shards import open_shard, raw_samples
from clipaudit.errors import InputError, StoreError
from clipaudit.remote.digests import RemoteDigests
from clipaudit.remote.stubs import Stub, read_stub, write_stub
from clipaudit.steps.filedigests import FileDigests


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def digests(store):
    return RemoteDigests(store)


def test_an_unchanged_shard_is_fetched_once(served, digests):
    served.files["/0.tar"] = b"content"

    found = [digests.digest(f"{served.url}/0.tar") for _ in range(3)]

    assert found == [sha256(b"content")] * 3
    assert served.bodies() == ["/0.tar"]


def test_a_replaced_shard_is_fetched_again(served, digests):
    served.files["/0.tar"] = b"one"
    digests.digest(f"{served.url}/0.tar")
    served.files["/0.tar"] = b"two"

    assert digests.digest(f"{served.url}/0.tar") == sha256(b"two")


def test_every_digest_is_a_download_if_a_server_hides_changes(served, digests):
    served.etags = False
    served.files["/0.tar"] = b"one"

    for _ in range(2):
        digests.digest(f"{served.url}/0.tar")

    assert len(served.bodies()) == 2


def test_a_recorded_digest_is_returned_without_a_request(served, digests):
    served.files["/0.tar"] = b"content"
    digests.digest(f"{served.url}/0.tar")
    asked = len(served.asked)

    assert digests.recorded(f"{served.url}/0.tar") == sha256(b"content")
    assert digests.recorded(f"{served.url}/1.tar") is None
    assert len(served.asked) == asked


def test_a_record_truncated_by_a_crash_is_rewritten(served, digests, store):
    served.files["/0.tar"] = b"content"
    digests.digest(f"{served.url}/0.tar")
    (record,) = (store.root / "files/urls").glob("*.json")
    record.write_text('{"state"')

    assert digests.digest(f"{served.url}/0.tar") == sha256(b"content")


def test_a_stub_opens_like_its_shard_and_is_fetched_only_then(served, digests, store):
    served.files["/0.tar"] = b"content"
    digest = digests.digest(f"{served.url}/0.tar")
    (store.root / "cache/shards" / digest).unlink()
    fetched = len(served.bodies())

    stub = FileDigests(store.root / "files").locate(digest)

    assert len(served.bodies()) == fetched
    assert read_stub(stub) == Stub(f"{served.url}/0.tar", 7, digest)
    file, size = open_shard(stub)
    with file:
        assert (file.read(), size) == (b"content", 7)
    assert len(served.bodies()) == fetched + 1


def test_a_local_copy_is_preferred_to_a_stub(served, digests, store, tmp_path):
    served.files["/0.tar"] = b"content"
    digest = digests.digest(f"{served.url}/0.tar")
    (tmp_path / "0.tar").write_bytes(b"content")
    files = FileDigests(store.root / "files")
    files.digest(tmp_path / "0.tar")

    assert files.locate(digest) == tmp_path / "0.tar"


def test_a_compressed_remote_tar_is_decompressed_during_the_download(served, digests, store, tars):
    served.files["/0.tar.gz"] = tars.compressed
    stub = digests.stub(digests.digest(f"{served.url}/0.tar.gz"))

    assert [sample.members for sample in raw_samples(stub)] == [{"txt": b"a cat"}]


def test_a_remote_file_that_is_not_a_tar_is_named_by_its_url(served, digests):
    served.files["/bad.tar"] = b"no tar" * 100
    stub = digests.stub(digests.digest(f"{served.url}/bad.tar"))

    with pytest.raises(InputError, match=r"http:127.0.0.1:\d+\+bad.tar.remote: not a readable tar"):
        list(raw_samples(stub))


def test_a_shard_replaced_after_its_index_is_refused_by_the_next_reader(served, digests, store):
    served.files["/0.tar"] = b"old"
    digest = digests.digest(f"{served.url}/0.tar")
    (store.root / "cache/shards" / digest).unlink()
    served.files["/0.tar"] = b"new"

    with pytest.raises(InputError, match=r"but .* was indexed. Put the old shard back"):
        open_shard(digests.stub(digest))


@pytest.mark.parametrize("places", [["/a.tar", "/b.tar"], ["/a.tar", "/b.tar", "/a.tar"]])
def test_a_shard_that_moved_is_read_where_it_was_found_last(served, digests, store, places):
    for path in places:
        served.files = {path: b"content"}
        digest = digests.digest(f"{served.url}{path}")
    (store.root / "cache/shards" / digest).unlink()

    file, _ = open_shard(FileDigests(store.root / "files").locate(digest))
    with file:
        assert file.read() == b"content"
    assert digests.url(digest) == f"{served.url}{places[-1]}"


def test_a_lost_stub_is_reported_with_the_index_command(digests):
    with pytest.raises(InputError, match=r"no URL is known .* --forcerun index"):
        digests.stub("ab" * 32)


@pytest.mark.parametrize("text", ["", "{}", '{"url": "/etc/passwd", "bytes": 1}', '{"url": 1}'])
def test_a_stub_without_a_valid_url_is_refused(store, text):
    write_stub(store.root / "files", Stub("s3://bucket/0.tar", 7, "ab" * 32))
    (stub,) = (store.root / "files/remote").rglob("*.remote")
    stub.write_text(text)

    with pytest.raises(StoreError, match="not a stub of a remote shard"):
        read_stub(stub)
