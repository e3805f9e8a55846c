"""Fetch a shard's state and its bytes from a remote; hash on the way and retry faults.

Only this module imports fsspec, and only when a URL is met.
"""

import contextlib
import functools
import hashlib
import io
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, TypeVar

from clipaudit.errors import ClipauditError, InputError, StoreError
from clipaudit.remote.faults import asked_pause, cause_of, final_fault, tired
from clipaudit.remote.stubs import Stub
from clipaudit.remote.urls import scheme_of

logger = logging.getLogger(__name__)

T = TypeVar("T")
PAUSES = (1.0, 4.0, 16.0)  # seconds before another attempt
_HTTP = {"http", "https"}
_BLOCK_BYTES = 16 << 20  # per request; affects requests and memory, not results
_SILENCE_SECONDS = 60  # of an HTTP server, before an attempt counts as failed
_MARKS = (  # the libraries' names of fields that show that an object was replaced
    "ETag", "etag", "LastModified", "Last-Modified", "last_modified", "mtime", "updated",
    "generation", "md5Hash", "crc32c", "Content-MD5", "Digest", "VersionId", "blob_id",
    "xet_hash",
)  # fmt: skip


@dataclass(frozen=True)
class State:
    """Size and marks of a remote object: equal states count as equal bytes."""

    bytes: int
    marks: Mapping[str, str]

    @property
    def tells(self) -> bool:
        """Whether a change would show: a server that gives only a size hides it."""
        return bool(self.marks)


def state_of(url: str) -> State:
    """Ask the remote for the state of an object; raise InputError."""
    found = _patiently(url, lambda: _info(url))
    if found.get("type") == "directory":
        raise InputError(f"{url}: a folder, not an object. Name the shards in it.")
    if not isinstance(found.get("size"), int):
        raise InputError(
            f"{url}: the server does not give its size, so the cache cannot make room. "
            "Serve it with a Content-Length and without a Content-Encoding, or copy it."
        )
    marks = {name: str(found[name]) for name in _MARKS if found.get(name) is not None}
    return State(found["size"], marks)


def fetch(url: str, size: int, into: io.BufferedIOBase) -> str:
    """Write the object of `size` bytes to a file, from the file's start; return its SHA-256.

    A failed attempt starts again from the beginning. Raise InputError, also for another size, and
    StoreError if the bytes cannot be written.
    """

    def attempt() -> str:
        into.seek(0)
        digest, got = hashlib.sha256(), 0
        with _opened(url, size) as remote:
            while block := remote.read(_BLOCK_BYTES):
                got += len(block)
                if got > size:
                    break
                digest.update(block)
                _write(url, block, into)
        if got > size:
            raise InputError(_other_size(url, f"more than {size}", size))
        if got < size:
            raise EOFError(f"got {got} of {size} bytes")
        return digest.hexdigest()

    return _patiently(url, attempt)


def fetch_known(stub: Stub, into: io.BufferedIOBase) -> str:
    """Write an indexed shard; raise InputError unless its bytes are still the same."""
    state = state_of(stub.url)
    if state.bytes != stub.bytes:
        raise InputError(_other_size(stub.url, str(state.bytes), stub.bytes))
    found = fetch(stub.url, stub.bytes, into)
    if found != stub.sha256:
        raise InputError(
            f"{stub.url}: its SHA-256 is {found} now, but {stub.sha256} was indexed. {_CHANGED}"
        )
    return found


_CHANGED = (
    "Put the old shard back; or, to go on with the new one, index again with `snakemake "
    "--forcerun index` and your targets."
)


def _other_size(url: str, found: str, known: int) -> str:
    return f"{url}: has {found} bytes now, but had {known} when it was checked. {_CHANGED}"


def _patiently(url: str, ask: Callable[[], T]) -> T:
    """Return the result of `ask`, with retries except for our errors and final faults."""
    for pause in (*PAUSES, None):
        try:
            return ask()
        except ClipauditError:
            raise
        except Exception as found:  # from any library that reads the scheme
            error = _behind(url, found)
            final = final_fault(url, error)
            if final is not None:
                raise final from None
            if pause is None:
                raise tired(url, error, attempts=len(PAUSES) + 1) from None
            pause = max(pause, asked_pause(error))
            logger.warning("%s: %s. Trying again in %g s.", url, cause_of(error), pause)
        time.sleep(pause)
    raise AssertionError("the last attempt returns or raises")


def _behind(url: str, error: Exception) -> Exception:
    """Return the real cause of an error: for HTTP, fsspec calls any fault a missing file."""
    missing = scheme_of(url) in _HTTP and isinstance(error, FileNotFoundError)
    return error.__cause__ if missing and isinstance(error.__cause__, Exception) else error


def _info(url: str) -> dict[str, Any]:
    filesystem, path = _filesystem(url)
    found: dict[str, Any] = filesystem.info(path)
    return found


@contextlib.contextmanager
def _opened(url: str, size: int) -> Iterator[IO[bytes]]:
    filesystem, path = _filesystem(url)
    options: dict[str, Any] = {"block_size": _BLOCK_BYTES, "cache_type": "none"}
    if scheme_of(url) in _HTTP:  # in one request: not every server knows ranges
        options = {"block_size": 0, "size": size}
    with filesystem.open(path, "rb", **options) as file:
        yield file


def _filesystem(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it; a worker process gets its own."""
    import fsspec

    for name in ("aiobotocore", "botocore", "fsspec", "gcsfs", "httpx", "s3fs", "urllib3"):
        # they log signed URLs, and tracebacks of attempts that are retried
        logging.getLogger(name).setLevel(logging.CRITICAL)
    options: dict[str, Any] = {}
    if scheme_of(url) in _HTTP:
        import aiohttp

        # aiohttp's own limit is five minutes for a whole shard
        patience = aiohttp.ClientTimeout(
            total=None, sock_connect=_SILENCE_SECONDS, sock_read=_SILENCE_SECONDS
        )
        options = {"client_kwargs": {"timeout": patience}}
    elif scheme_of(url) == "s3" and not fsspec.config.conf.get("s3"):  # else the user has decided
        named = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        if not _has_credentials(frozenset(named.items())):
            options = {"anon": True}
    filesystem, path = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    return filesystem, path


@functools.cache
def _has_credentials(_named: frozenset[tuple[str, str]]) -> bool:
    """Return whether AWS's library finds credentials, with these variables in the environment.

    Without them s3fs would refuse public buckets, too, unless it is asked for anonymous access.
    """
    from botocore.session import Session

    return Session().get_credentials() is not None


def _write(url: str, block: bytes, file: io.BufferedIOBase) -> None:
    try:
        file.write(block)
    except OSError as error:
        raise StoreError(
            f"{url}: the cache cannot hold it ({error.strerror}). Free some space on its disk, or "
            "name another folder as `remote.cache` in the settings."
        ) from error
