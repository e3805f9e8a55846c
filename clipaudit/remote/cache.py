"""The cache of remote shards: a folder of whole, verified files that never exceeds its limit.

    <cache>/shards/<sha256>         a shard; its modification time is when it was last opened
    <cache>/shards/<name>.part      a download in progress, of full length, locked meanwhile
    <cache>/locks/<two digits>      lock for fetching: two processes fetch the same shard once
    <cache>/locks/room              lock for counting, making room and renaming

The least recently opened shards are removed first, before a download, so that the limit holds with
it. A shard that is removed while being read stays readable; its disk space is freed when the reader
ends.
"""

import contextlib
import fcntl
import hashlib
import io
import logging
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from clipaudit.errors import ConfigError, StoreError
from clipaudit.store.store import flush

logger = logging.getLogger(__name__)

CACHE = "CLIPAUDIT_CACHE"  # an environment variable, so that workers and pipes inherit it
GIGABYTES = "CLIPAUDIT_CACHE_GIGABYTES"
DEFAULT_GIGABYTES = 50.0  # a part of 32 shards of 1 GB, img2dataset's default, and some more
_GIGABYTE = 10**9
_LOOKS_A_SECOND = 5

Download = Callable[[io.BufferedIOBase], str]  # writes a shard to a file, returns its SHA-256


class _File(NamedTuple):
    path: Path
    bytes: int
    opened: int  # ns


@dataclass
class ShardCache:
    """The shards in one folder, at most `limit` bytes; any number of processes may share it."""

    folder: Path  # created on the first fetch
    limit: int

    def opened(self, sha256: str, size: int, download: Download) -> io.FileIO:
        """Open a shard for reading; download it if it is missing."""
        while True:
            file = self._open(sha256, size)
            if file is not None:
                return file
            with self._held(sha256[:2]):
                if not self._path(sha256).exists():  # else another process fetched it meanwhile
                    return self._fetched(sha256, size, download)[1]

    def take(self, name: str, size: int, download: Download) -> str:
        """Download a shard of unknown hash under a unique `name`; return its SHA-256."""
        name = hashlib.sha256(name.encode()).hexdigest()
        with self._held(name[:2]):
            sha256, file = self._fetched(name, size, download)
        file.close()
        return sha256

    # --- files ---------------------------------------------------------------------------------

    def _open(self, sha256: str, size: int) -> io.FileIO | None:
        path = self._path(sha256)
        try:
            file = io.FileIO(path)
        except (FileNotFoundError, NotADirectoryError):  # the lock's folder reports the second
            return None
        if os.fstat(file.fileno()).st_size != size:  # left by a crash of the machine
            file.close()
            path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(FileNotFoundError, PermissionError):  # removed, or another user's
            os.utime(path)
        return file

    def _fetched(self, name: str, size: int, download: Download) -> tuple[str, io.FileIO]:
        """Download a shard; return its SHA-256 and the open file, since it may be removed soon."""
        part = self._path(f"{name}.part")
        with self._room(part, size) as file:
            sha256 = download(file)
            file.flush()
            flush(part)  # else a crash of the machine might leave zeros of the right length
            reader = io.FileIO(part)
            with self._held("room"):  # otherwise a count might see neither name
                os.replace(part, self._path(sha256))
        return sha256, reader

    @contextlib.contextmanager
    def _room(self, part: Path, size: int) -> Iterator[io.BufferedWriter]:
        """Give a file of the right length for writing, once there is room for it."""
        if size > self.limit:
            raise ConfigError(
                f"{self.folder}: a shard of {size} bytes is larger than the whole cache, "
                f"{self.limit} bytes. Raise `remote.gigabytes` in the settings, or {GIGABYTES}."
            )
        while (file := self._reserved(part, size)) is None:
            time.sleep(1 / _LOOKS_A_SECOND)  # other downloads fill the cache
        with file:
            try:
                yield file
            except BaseException:
                part.unlink(missing_ok=True)
                raise

    def _reserved(self, part: Path, size: int) -> io.BufferedWriter | None:
        with self._held("room"):
            files = sorted(self._files(), key=lambda file: file.opened)
            total = sum(file.bytes for file in files)
            for each in files:
                if total + size <= self.limit:
                    break
                if each.path.suffix != ".part":
                    each.path.unlink(missing_ok=True)
                    total -= each.bytes
                    logger.info("out of the cache: %s", each.path.name)
            if total + size > self.limit:
                return None
            file = open(part, "wb")  # closed by _room
            _lock(file, fcntl.LOCK_EX)
            file.truncate(size)  # counts from now on
            return file

    def _files(self) -> Iterator[_File]:
        """Yield the files in the cache; remove what a killed download left."""
        for path in (self.folder / "shards").iterdir():
            with contextlib.suppress(FileNotFoundError):  # a download that failed just now
                if path.suffix == ".part" and _is_free(path):
                    path.unlink()
                    continue
                status = path.stat()
                yield _File(path, status.st_size, status.st_mtime_ns)

    def _path(self, name: str) -> Path:
        return self.folder / "shards" / name

    # --- locks ---------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _held(self, name: str) -> Iterator[None]:
        """Hold a lock; shards share a few locks, so two fetches may wait for each other."""
        try:
            for room in ("shards", "locks"):
                (self.folder / room).mkdir(parents=True, exist_ok=True)
            file = (self.folder / "locks" / name).open("a")
        except OSError as error:
            raise StoreError(
                f"{self.folder}: the cache of remote shards cannot be used ({error.strerror}). "
                "Name another folder as `remote.cache` in the settings."
            ) from error
        with file:
            _lock(file, fcntl.LOCK_EX)
            yield


def cache_of(store: Path) -> ShardCache:
    """Return the cache that the environment names, or else `<store>/cache`."""
    folder = Path(os.environ.get(CACHE) or store / "cache")
    text = os.environ.get(GIGABYTES) or str(DEFAULT_GIGABYTES)
    try:
        limit = int(float(text) * _GIGABYTE)
    except (OverflowError, ValueError):
        raise ConfigError(
            f"{GIGABYTES}={text!r}: not a number. Give gigabytes, such as 50."
        ) from None
    return ShardCache(folder, limit)


def use_cache(folder: str | None, gigabytes: float) -> None:
    """Set what `cache_of` finds, for this process and those that it starts.

    `~` and environment variables are expanded here, on the machine that reads: each node of a
    cluster may have its own disk. Raise ConfigError for a variable that is not set.
    """
    os.environ[GIGABYTES] = str(gigabytes)
    if folder is None:
        return
    path = os.path.expanduser(os.path.expandvars(folder))
    if "$" in path:
        raise ConfigError(
            f"remote.cache: {folder} names a variable that is not set on this machine. Set it, or "
            "name a folder."
        )
    os.environ[CACHE] = os.path.abspath(path)


def _lock(file: io.IOBase, how: int) -> None:
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        raise
    except OSError as error:
        raise StoreError(
            f"files cannot be locked in the cache of remote shards ({error.strerror}). Name a "
            "folder on a disk of this machine as `remote.cache` in the settings."
        ) from error


def _is_free(part: Path) -> bool:
    """Return whether no process writes this part any more, because its writer was killed."""
    try:
        with part.open("r+b") as file:  # NFS locks only files that are open for writing
            _lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except (BlockingIOError, PermissionError):  # the second: another user's
        return False
