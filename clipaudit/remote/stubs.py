"""Stubs: small local files that stand for remote shards, for code that uses paths.

    store/files/remote/ab/cdef.../<name>.remote    url and size of the bytes with this SHA-256

The name shows the URL to readers; only the content counts. Its modification time is when the bytes
were last found at the URL. Standard library only.
"""

import io
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.remote.urls import is_url
from clipaudit.store.store import replace_text

SUFFIX = ".remote"
_LONGEST_NAME = 200  # bytes; file systems take 255


@dataclass(frozen=True)
class Stub:
    """The content of a stub."""

    url: str
    bytes: int
    sha256: str


def write_stub(files: Path, stub: Stub) -> None:
    """Write a shard's stub into the folder `files` of a store: its bytes are at its URL now."""
    path = _folder(files, stub.sha256) / _name(stub.url)
    text = json.dumps({"bytes": stub.bytes, "url": stub.url}, sort_keys=True)
    if not path.is_file() or path.read_text() != text:
        replace_text(path, text)
    now = time.time_ns()  # the system's own times of files may differ by milliseconds from it
    with suppress(PermissionError):  # another user's
        os.utime(path, ns=(now, now))


def find_stub(files: Path, sha256: str) -> Path | None:
    """Return the stub of these bytes, of the URL where they were last found; None without one."""
    stubs = _folder(files, sha256).glob(f"*{SUFFIX}")
    return max(stubs, key=lambda stub: (stub.stat().st_mtime_ns, stub.name), default=None)


def read_stub(path: Path) -> Stub:
    """Return the content of a stub; raise StoreError for a file that is not one."""
    try:
        fields = json.loads(path.read_text())
        stub = Stub(fields["url"], fields["bytes"], path.parent.parent.name + path.parent.name)
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise _no_stub(path) from error
    sound = isinstance(stub.url, str) and is_url(stub.url) and isinstance(stub.bytes, int)
    if not sound or not re.fullmatch("[0-9a-f]{64}", stub.sha256):
        raise _no_stub(path)
    return stub


def open_stub(path: Path) -> io.FileIO:
    """Open the shard of a stub from the cache, fetching it if it is missing."""
    from clipaudit.remote.cache import cache_of
    from clipaudit.remote.fetching import fetch_known

    stub = read_stub(path)
    store = path.absolute().parents[4]
    return cache_of(store).opened(stub.sha256, stub.bytes, lambda into: fetch_known(stub, into))


def _folder(files: Path, sha256: str) -> Path:
    return files / "remote" / sha256[:2] / sha256[2:]


def _name(url: str) -> str:
    """Return a file name that shows a URL.

    >>> _name("s3://bucket/laion/00000.tar")
    's3:bucket+laion+00000.tar.remote'
    """
    name = re.sub(r"[^\w.:+@=-]", "_", url.replace("://", ":").replace("/", "+"), flags=re.ASCII)
    return os.fsdecode(os.fsencode(name)[-_LONGEST_NAME:]) + SUFFIX


def _no_stub(path: Path) -> StoreError:
    return StoreError(
        f"{path}: not a stub of a remote shard. Remove it, and index the shard again: "
        "`snakemake --forcerun index`."
    )
