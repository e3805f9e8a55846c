"""Compute the SHA-256 of the user's files once while they are unchanged, and find files by it.

A file's record, named by its absolute path, is trusted while size, modification time and inode stay
the same. It is one small JSON, replaced whole, so any number of processes may share the directory.
Losing a record costs one more read of the file. Standard library only.
"""

import hashlib
import json
import os
import time
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from clipaudit.errors import InputError, StoreError
from clipaudit.remote.stubs import find_stub
from clipaudit.store.store import Store, file_sha256, replace_text

# A file rewritten within the clock's resolution has the same time; git calls such entries racy.
_SETTLED_NS = 2_000_000_000  # FAT's resolution, the coarsest in use


@dataclass
class FileDigests:
    """The digests of files outside the store, memoized in `directory`."""

    directory: Path  # in the store, created with the first digest

    def digest(self, path: Path, *, must_record: bool = True) -> str:
        """Return the SHA-256 of a file's bytes in hex, reading the file only if it changed.

        Raise InputError for a file that is missing, unreadable or changes during the read, and
        StoreError if its record cannot be written; without `must_record` the next call reads again.
        """
        path = Path(os.path.abspath(path))
        try:
            return self._digest(path, must_record)
        except OSError as error:
            raise InputError(
                f"{path}: the file cannot be read ({error.strerror}). Check the path."
            ) from error

    def known(self, path: Path) -> str | None:
        """Return the SHA-256 of a file that is unchanged since it was read, without reading it."""
        path = Path(os.path.abspath(path))
        with suppress(OSError):
            return self._memoized(path, _state(path))
        return None

    def _memoized(self, path: Path, state: list[int]) -> str | None:
        record = _read(self._record(path))
        if record.get("state") == state and record.get("settled") is True:
            return str(record["sha256"])
        return None

    def _digest(self, path: Path, must_record: bool) -> str:
        state = _state(path)
        if (known := self._memoized(path, state)) is not None:
            return known
        now = time.time_ns()
        digest = file_sha256(path)
        if _state(path) != state:
            raise InputError(
                f"{path}: the file changed during the read. Rerun when it is complete."
            )
        settled = abs(now - state[1]) > _SETTLED_NS
        with nullcontext() if must_record else suppress(StoreError):
            _write(self._record(path), {"state": state, "sha256": digest, "settled": settled})
            _write(self._place(digest, path), {"path": os.fspath(path)})
        return digest

    def locate(self, sha256: str) -> Path:
        """Return a file with this SHA-256: an object of the store, or a file seen before.

        A touched file is read again; a moved, removed or changed file is skipped. Of several copies
        any may be returned. If only a remote copy exists, return its stub; its bytes are checked
        when they are fetched. Raise InputError if none is left.
        """
        own = Store(self.directory.parent).path(sha256)
        known = [_read(place).get("path") for place in self._places(sha256)]
        troubles = []
        for path in [*([str(own)] if own.is_file() else []), *known]:
            if not isinstance(path, str):
                continue
            try:
                digest = self.digest(Path(path), must_record=False)
            except InputError as error:
                troubles.append(str(error))
                continue
            if digest == sha256:
                return Path(path)
            troubles.append(f"{path}: its SHA-256 is now {digest}.")
        stub = find_stub(self.directory, sha256)
        if stub is not None:
            return stub
        told = " ".join(troubles) or f"{self.directory} has no record of one."
        raise InputError(
            f"no file with SHA-256 {sha256}: {told} "
            "Put the file back, or rerun so that the shard is indexed again."
        )

    def _record(self, path: Path) -> Path:
        return self.directory / "paths" / _name(path)

    def _place(self, digest: str, path: Path) -> Path:
        return self.directory / "digests" / digest[:2] / digest[2:] / _name(path)

    def _places(self, digest: str) -> list[Path]:
        directory = self.directory / "digests" / digest[:2] / digest[2:]
        try:
            return sorted(directory.glob("*.json"))
        except OSError:
            return []


def _name(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".json"


def _state(path: Path) -> list[int]:
    """Return size, modification time in ns, and inode."""
    stat = os.stat(path)
    return [stat.st_size, stat.st_mtime_ns, stat.st_ino]


def _read(record: Path) -> dict[str, object]:
    """Read a record; one that is missing or truncated by a crash counts as empty."""
    try:
        fields = json.loads(record.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    except OSError as error:
        raise StoreError(
            f"{record}: the record cannot be read ({error.strerror}). Check its permissions."
        ) from error
    return fields if isinstance(fields, dict) else {}


def _write(record: Path, fields: dict[str, object]) -> None:
    try:
        replace_text(record, json.dumps(fields, sort_keys=True))
    except OSError as error:
        raise StoreError(
            f"{record}: the record cannot be written ({error.strerror}). "
            "Give this user write permission there, or free some space on the disk."
        ) from error
