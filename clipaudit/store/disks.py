"""Report a disk's free space, and turn its errors into ours.

A disk may be full, read-only, broken, or not writable for this user.
"""

import errno
import os
import shutil
import sys
from pathlib import Path

from clipaudit.errors import StoreError

_AGAIN = "and start the same command again: finished work is kept."
_NEXT_STEP = {
    errno.ENOSPC: f"Free some space there, {_AGAIN}",
    errno.EDQUOT: f"Free some space of this user's there, {_AGAIN}",
    errno.EFBIG: f"Allow larger files (`ulimit -f`), or use a disk that takes them, {_AGAIN}",
    errno.EROFS: f"Mount it for writing, or put results and store elsewhere, {_AGAIN}",
    errno.EACCES: f"Give this user permission for it, {_AGAIN}",
    errno.EPERM: f"Give this user permission for it, {_AGAIN}",
    errno.EIO: f"Check the disk, {_AGAIN}",
    errno.ESTALE: f"The file server lost the file: wait until it recovers, {_AGAIN}",
}


def free_bytes(folder: Path) -> int:
    """Return the bytes free for this user on a folder's disk; the folder need not exist yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free


def disk_error(error: Exception, *, among: str) -> StoreError | None:
    """Return our error for a disk error, or for one raised in handling it; None for any other.

    A zip that cannot be written, for example, cannot be closed either. DuckDB's errors have no
    number, so they are recognised by their text. For an error without a path, `among` names the
    folders it may be about: a write without space does not say where.

    >>> print(disk_error(OSError(errno.ENOSPC, "No space left on device"), among="the store"))
    the store: No space left on device. Free some space there, and start the same command \
again: finished work is kept.
    >>> disk_error(FileNotFoundError(errno.ENOENT, "No such file", "x"), among="store")
    """
    raised: BaseException | None = error
    while raised is not None:
        if found := _disk_error(raised, among):
            return found
        raised = raised.__context__
    return None


def _disk_error(error: BaseException, among: str) -> StoreError | None:
    if isinstance(error, OSError) and error.errno in _NEXT_STEP:
        place = error.filename2 or error.filename or among  # a copy fails where it is written
        return StoreError(f"{place}: {error.strerror}. {_NEXT_STEP[error.errno]}")
    duckdb = sys.modules.get("duckdb")  # do not import it for this
    if duckdb is None or not isinstance(error, duckdb.IOException):
        return None
    said = str(error).splitlines()[0]
    number = next((each for each in _NEXT_STEP if os.strerror(each) in said), None)
    return None if number is None else StoreError(f"{said}. {_NEXT_STEP[number]}")
