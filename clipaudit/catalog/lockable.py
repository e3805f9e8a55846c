"""Give DuckDB its files on a disk that can lock them: it opens no others."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clipaudit.errors import StoreError


@contextmanager
def lockable(path: Path) -> Iterator[Path]:
    """Give the path of a DuckDB file to read, or of its copy if its disk cannot lock files."""
    if _can_lock(path):
        yield path
        return
    with written_elsewhere() as copy:
        shutil.copyfile(path, copy)
        yield copy


@contextmanager
def written_elsewhere() -> Iterator[Path]:
    """Give the path of a file to write in a temporary folder, which is removed at the end.

    Raise StoreError if files there cannot be locked either.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.duckdb"
        path.touch()
        if not _can_lock(path):
            raise StoreError(
                f"{folder}: files cannot be locked there, and DuckDB needs locks. Set TMPDIR to a "
                "folder on a disk of this machine, and start the same command again."
            )
        path.unlink()  # DuckDB refuses an empty file
        yield path


def _can_lock(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # another program writes it, which DuckDB reports
            return True
        except OSError:
            return False
    return True
