"""Disks: what is free on one, and what one refuses, as an error of ours.

It may be full, for reading only, broken, or not ours.
"""

import errno
import os
import shutil
import sys
from pathlib import Path

from clipaudit.errors import StoreError

_AGAIN = "and start the same command again: what is done stays done."
_NEXT_STEP = {
    errno.ENOSPC: f"Free some space there, {_AGAIN}",
    errno.EDQUOT: f"Free some space of this user's there, {_AGAIN}",
    errno.EROFS: f"Mount it for writing, or name folders elsewhere as results and store, {_AGAIN}",
    errno.EACCES: f"Give this user the right to it, {_AGAIN}",
    errno.EPERM: f"Give this user the right to it, {_AGAIN}",
    errno.EIO: f"Look after the disk, {_AGAIN}",
    errno.ESTALE: f"The file server lost the file: wait until it is well, {_AGAIN}",
}


def free_bytes(folder: Path) -> int:
    """Return what is free for this user on the disk of a folder, which need not be there yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free


def disk_error(error: Exception, *, among: str) -> StoreError | None:
    """Return what to tell of a disk's refusal; None for an error that is no disk's.

    DuckDB's errors have no number: theirs are known by their words. Of an error without a path,
    `among` says which folders it may be about: a write that finds no space does not say where.

    >>> print(disk_error(OSError(errno.ENOSPC, "No space left on device"), among="the store"))
    the store: No space left on device. Free some space there, and start the same command \
again: what is done stays done.
    >>> disk_error(FileNotFoundError(errno.ENOENT, "No such file", "x"), among="store")
    """
    if isinstance(error, OSError) and error.errno in _NEXT_STEP:
        return StoreError(f"{error.filename or among}: {error.strerror}. {_NEXT_STEP[error.errno]}")
    duckdb = sys.modules.get("duckdb")  # not imported for this
    if duckdb is None or not isinstance(error, duckdb.IOException):
        return None
    said = str(error).splitlines()[0]
    number = next((each for each in _NEXT_STEP if os.strerror(each) in said), None)
    return None if number is None else StoreError(f"{said}. {_NEXT_STEP[number]}")
