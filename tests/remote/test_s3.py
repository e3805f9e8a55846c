"""A local S3 server on loopback: real libraries with the real protocol."""

import hashlib
import io
import multiprocessing
import os

import pytest
from s3fs import S3FileSystem
from s3server import bucket_client, needs_moto, serving_s3

from clipaudit.errors import InputError
from clipaudit.remote import fetching
from clipaudit.remote.digests import RemoteDigests
from clipaudit.remote.fetching import fetch, state_of

pytestmark = needs_moto


@pytest.fixture(scope="module")
def endpoint():
    with serving_s3() as found:
        yield found


@pytest.fixture
def bucket(endpoint, monkeypatch):
    """Return a bucket `shards` that the environment points to."""
    for name, value in endpoint.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(fetching, "PAUSES", (0.0,))
    S3FileSystem.clear_instance_cache()
    client = bucket_client(endpoint)
    client.create_bucket(Bucket="shards")
    client.put_object(Bucket="shards", Key="a/0.tar", Body=b"content")
    return client


def test_a_shard_is_read_from_s3(bucket):
    into = io.BytesIO()

    found = fetch("s3://shards/a/0.tar", 7, into)

    assert (found, into.getvalue()) == (hashlib.sha256(b"content").hexdigest(), b"content")


def test_a_folder_of_a_bucket_is_no_shard(bucket):
    with pytest.raises(InputError, match=r"s3://shards/a: a folder, not an object. Name"):
        state_of("s3://shards/a")


def test_a_shard_of_several_requests_is_complete(bucket, monkeypatch):
    content = bytes(range(256)) * 40
    bucket.put_object(Bucket="shards", Key="long.tar", Body=content)
    monkeypatch.setattr(fetching, "_BLOCK_BYTES", 1000)
    into = io.BytesIO()

    fetch("s3://shards/long.tar", len(content), into)

    assert into.getvalue() == content


def test_a_worker_forked_after_a_fetch_can_fetch_too(bucket):
    content = hashlib.sha256(b"content").hexdigest()
    assert fetch("s3://shards/a/0.tar", 7, io.BytesIO()) == content

    def check():
        assert fetch("s3://shards/a/0.tar", 7, io.BytesIO()) == content

    worker = multiprocessing.get_context("fork").Process(target=check)
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0


def test_a_replaced_shard_is_detected(bucket, store):
    digests = RemoteDigests(store)
    digests.digest("s3://shards/a/0.tar")
    bucket.put_object(Bucket="shards", Key="a/0.tar", Body=b"contenu")

    assert digests.digest("s3://shards/a/0.tar") == hashlib.sha256(b"contenu").hexdigest()


@pytest.mark.parametrize("url", ["s3://shards/none.tar", "s3://no-such-bucket/0.tar"])
def test_a_missing_object_and_a_missing_bucket_are_named(bucket, url):
    name = url.split("/")[2]

    with pytest.raises(InputError, match=f"{url}: no such object, or no bucket {name}"):
        state_of(url)


def test_denied_access_to_a_bucket_is_reported_without_the_credentials(bucket, served, monkeypatch):
    S3FileSystem.clear_instance_cache()  # it still points to the other server
    monkeypatch.setenv("AWS_ENDPOINT_URL", served.url)
    served.status = [403] * 20

    with pytest.raises(
        InputError, match=r"a/0.tar: access is denied \(.*where s3fs looks"
    ) as caught:
        state_of("s3://shards/a/0.tar")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        assert os.environ[name] not in str(caught.value)
