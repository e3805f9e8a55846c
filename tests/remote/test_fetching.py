import hashlib
import io
import logging
import subprocess
import sys
import time

import pytest

from clipaudit.errors import InputError
from clipaudit.remote.fetching import fetch, fetch_known, state_of
from clipaudit.remote.stubs import Stub


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def test_bytes_are_fetched_with_their_hash(served):
    served.files["/0.tar"] = b"content"
    into = io.BytesIO()

    assert fetch(f"{served.url}/0.tar", 7, into) == sha256(b"content")
    assert into.getvalue() == b"content"


def test_a_known_shard_is_fetched_in_two_requests(served):
    served.files["/0.tar"] = b"content"

    fetch_known(Stub(f"{served.url}/0.tar", 7, sha256(b"content")), io.BytesIO())

    assert served.asked == [("HEAD", "/0.tar"), ("GET", "/0.tar")]


def test_a_state_changes_with_the_object(served):
    served.files["/0.tar"] = b"one"
    before = state_of(f"{served.url}/0.tar")
    served.files["/0.tar"] = b"two"

    assert before.bytes == 3
    assert before.tells
    assert state_of(f"{served.url}/0.tar") != before


def test_a_server_that_gives_only_a_size_reveals_no_change(served):
    served.etags = False
    served.files["/0.tar"] = b"one"

    assert not state_of(f"{served.url}/0.tar").tells


def test_a_temporary_fault_is_retried(served, caplog):
    served.files["/0.tar"] = b"content"
    served.status = [503] * 2

    with caplog.at_level(logging.WARNING):
        assert fetch(f"{served.url}/0.tar", 7, io.BytesIO()) == sha256(b"content")

    assert [record.message.count("Trying again") for record in caplog.records] == [1, 1]


@pytest.mark.parametrize("ask", [state_of, lambda url: fetch(url, 7, io.BytesIO())])
def test_a_busy_server_is_asked_again_when_it_says(served, caplog, ask):
    served.files["/0.tar"] = b"content"
    served.status, served.retry_after = [429, 429], "1"
    start = time.monotonic()

    with caplog.at_level(logging.WARNING):
        ask(f"{served.url}/0.tar")

    assert all(record.message.endswith("Trying again in 1 s.") for record in caplog.records)
    assert time.monotonic() - start >= 1


def test_a_truncated_body_is_fetched_again_from_the_beginning(served):
    served.files["/0.tar"] = b"content"
    served.cut = 1
    into = io.BytesIO()

    assert fetch(f"{served.url}/0.tar", 7, into) == sha256(b"content")
    assert into.getvalue() == b"content"


def test_a_persistent_fault_is_one_message(served):
    served.files["/0.tar"] = b"content"
    served.status = [503] * 20

    with pytest.raises(InputError, match=r"/0.tar: cannot be read after 3 attempts \(.*503.*Check"):
        fetch(f"{served.url}/0.tar", 7, io.BytesIO())


def test_an_unreachable_server_is_one_message(served):
    with pytest.raises(InputError, match=r"127.0.0.1:1/0.tar: cannot be read after 3 attempts"):
        state_of("http://127.0.0.1:1/0.tar")


def test_a_missing_object_is_not_requested_again(served):
    with pytest.raises(InputError, match=r"/none.tar: no such object. Correct the URL"):
        fetch(f"{served.url}/none.tar", 7, io.BytesIO())
    assert served.bodies() == ["/none.tar"]


@pytest.mark.parametrize("status", [401, 403])
def test_denied_access_is_not_requested_again(served, status):
    served.files["/0.tar"] = b"content"
    served.status = [status] * 5

    with pytest.raises(InputError, match=r"/0.tar: access is denied \(.*docs/remote.md lists them"):
        state_of(f"{served.url}/0.tar")
    assert served.bodies() == ["/0.tar"]


def test_a_server_that_sends_more_than_it_announced_is_cut_off(served):
    served.files["/0.tar"] = bytes(1000)
    into = io.BytesIO()

    with pytest.raises(InputError, match="has more than 7 bytes now, but had 7"):
        fetch(f"{served.url}/0.tar", 7, into)
    assert into.getvalue() == b""


def test_a_shard_of_another_length_is_refused_before_it_is_fetched(served):
    url = f"{served.url}/0.tar"
    served.files["/0.tar"] = b"longer"

    with pytest.raises(InputError, match=r"has 6 bytes now, but had 3 when .* --forcerun index"):
        fetch_known(Stub(url, 3, sha256(b"old")), io.BytesIO())
    assert served.bodies() == []


def test_a_shard_with_different_bytes_is_refused_with_both_digests(served):
    url = f"{served.url}/0.tar"
    served.files["/0.tar"] = b"new"

    with pytest.raises(InputError) as caught:
        fetch_known(Stub(url, 3, sha256(b"old")), io.BytesIO())
    for part in (url, sha256(b"new"), sha256(b"old"), "snakemake --forcerun index"):
        assert part in str(caught.value)


def test_a_missing_package_is_named(monkeypatch):
    import fsspec

    def absent(*arguments, **options):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", absent)

    with pytest.raises(InputError, match=r"read by s3fs, which .*pip install s3fs"):
        state_of("s3://bucket/0.tar")


def test_no_library_message_reveals_a_secret(served, monkeypatch):
    import fsspec

    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")

    def leaking(*arguments, **options):
        raise OSError("https://me:word@cdn/0.tar?X-Amz-Signature=abc by wJalrXUtnFEMI")

    monkeypatch.setattr(fsspec.core, "url_to_fs", leaking)

    with pytest.raises(InputError) as caught:
        state_of("hf://datasets/who/what/0.tar")
    for secret in ("word", "abc", "wJalr"):
        assert secret not in str(caught.value)


def test_other_libraries_do_not_log_their_requests(served):
    served.files["/0.tar"] = b"content"
    state_of(f"{served.url}/0.tar")

    assert not logging.getLogger("httpx").isEnabledFor(logging.INFO)


def test_a_job_without_urls_imports_no_url_readers():
    seen = "import sys, clipaudit.steps.step, clipaudit.corpora.shards; print(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)

    assert not {"fsspec", "aiohttp", "s3fs", "asyncio"} & {*done.stdout.split()}
