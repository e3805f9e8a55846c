"""Locks: when several processes need the same work, one does it and the others wait."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from clipaudit.errors import InputError


@contextmanager
def alone(path: Path, *, refusal: str | None = None) -> Iterator[None]:
    """Wait until no other process does the same work; a killed process loses its lock.

    Two manifests with equal content need one training run. If the disk cannot lock files, both
    processes do the work. With `refusal`, raise InputError with this text instead of waiting.
    """
    how = fcntl.LOCK_EX if refusal is None else fcntl.LOCK_EX | fcntl.LOCK_NB
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with path.open("a") as file:  # not "w": `clipaudit gc` reads the lock's age from its time
            try:
                fcntl.flock(file, how)
            except BlockingIOError as error:
                raise InputError(refusal) from error
            except OSError:
                pass  # the disk cannot lock files
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
