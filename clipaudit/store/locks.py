"""Locks: when several processes need the same work, one does it and the others wait."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process does the same work; a killed process loses its lock.

    Two manifests with equal content need one training run. If the disk cannot lock files, both
    processes do the work.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as file:  # not "w": `clipaudit gc` reads the lock's age from its time
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _lies_at(path, file):
                continue  # its holder removed it: wait for the new one
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _lies_at(path: Path, file: IO[str]) -> bool:
    """Return whether an open file is still the one at `path`."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
