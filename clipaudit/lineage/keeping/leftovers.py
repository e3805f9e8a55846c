"""Leftovers: other files of a store than objects and actions, and when they are obsolete.

* unfinished: temporary files and scratch folders of killed steps; those of a running step have a
  lock, and stay
* seen: memos of missing objects
* pieces: notes that a stored action, now missing, holds a piece
* files: memos of missing user files; a memo saves one read of the file
* quarantine: damaged objects that `clipaudit verify --repair` moved aside
"""

import fcntl
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from clipaudit.store.store import Store


@dataclass(frozen=True)
class Amount:
    """Some files, and their bytes."""

    files: int = 0
    bytes: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        """Return the sum of both."""
        return Amount(self.files + other.files, self.bytes + other.bytes)


# --- running steps -------------------------------------------------------------------------------


def running_since(store: Store) -> list[int]:
    """Return when each running step took its lock, in nanoseconds, sorted."""
    locks = (store.root / "unfinished").glob("*.lock")
    return sorted(time for lock in locks if (time := _held_since(lock)) is not None)


def written_objects(store: Store) -> set[str]:
    """Return the objects that unfinished steps have written, for reuse after a kill."""
    found = set()
    for path in _files(store.root / "unfinished"):
        if path.parent.name != "written" or path.suffix != ".json":
            continue
        # its step has just ended, or a crash truncated the file
        with suppress(FileNotFoundError, KeyError, TypeError, ValueError):
            found.add(str(json.loads(path.read_text())["pointer"]["digest"]))
    return found


def _held_since(lock: Path) -> int | None:
    """Return when a step took this lock; None if no step has it, or the disk cannot lock."""
    with suppress(FileNotFoundError):
        try:
            with lock.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return lock.stat().st_mtime_ns
        except OSError:  # the disk cannot lock: with --no-lock, the collection relies on times
            return None
    return None


@contextmanager
def _taken(lock: Path) -> Iterator[bool]:
    """Take the lock of a step for a moment and remove it; give False if another process has it."""
    try:
        file = lock.open("a")
    except PermissionError:
        yield False
        return
    with file:
        ours = _locked(file) and _is_at(file, lock)
        yield ours
        if ours:
            lock.unlink(missing_ok=True)


def _locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # this disk cannot lock
        return True
    return True


def _is_at(file: IO[str], path: Path) -> bool:
    """Return whether an open file still has its name: a step removes its lock when it ends."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


# --- obsolete files ------------------------------------------------------------------------------


def sweep_unfinished(store: Store, cutoff: int, *, delete: bool) -> Amount:
    """Remove, or only count, leftovers from before `cutoff` of steps that no longer run."""
    total = Amount()
    folder = store.root / "unfinished"
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for name in names:
        path = folder / name
        lock = path if name.endswith(".lock") else path.with_name(f"{name}.lock")
        if (
            not path.exists()
            or _newest(path) >= cutoff
            or _newest(lock) >= cutoff
            or _held_since(lock) is not None
        ):
            continue
        size = _size(path)
        if delete and not _remove_unfinished(path, lock, cutoff):
            continue
        total += size
    return total


def _remove_unfinished(path: Path, lock: Path, cutoff: int) -> bool:
    """Remove a temporary file, or a step's scratch folder while no process can start to use it."""
    if path.is_file() and path != lock:
        path.unlink(missing_ok=True)
        return True
    with _taken(lock) as ours:
        if ours and path != lock and _newest(path) < cutoff:
            shutil.rmtree(path, ignore_errors=True)
        return ours


def sweep_seen(store: Store, is_there: Callable[[str], bool], *, delete: bool) -> Amount:
    """Remove, or only count, the memos of missing objects."""
    memos = (store.root / "seen").glob("*/??/*")
    gone = (path for path in memos if not is_there(path.parent.name + path.name))
    return _sweep((path for path in gone if not path.name.startswith(".")), delete)


def sweep_pieces(store: Store, is_there: Callable[[str], bool], *, delete: bool) -> Amount:
    """Remove, or only count, the links from pieces to missing actions."""
    notes = (store.root / "pieces").glob("??/*/*")
    gone = (path for path in notes if not is_there(path.name))
    return _sweep((path for path in gone if not path.name.startswith(".")), delete)


def sweep_file_memos(store: Store, cutoff: int, *, delete: bool) -> Amount:
    """Remove, or only count, memos from before `cutoff` of missing user files."""
    return _sweep(_memos_of_gone_files(store.root / "files", cutoff), delete)


def sweep_quarantine(store: Store, cutoff: int, *, delete: bool) -> Amount:
    """Remove, or only count, objects quarantined before `cutoff`."""
    paths = (store.root / "quarantine").glob("*")
    return _sweep((path for path in paths if _newest(path) < cutoff), delete)


def _memos_of_gone_files(folder: Path, cutoff: int) -> Iterator[Path]:
    told = set()
    for place in (folder / "digests").glob("??/*/*.json"):
        if _newest(place) >= cutoff or not _names_gone_file(place):
            continue
        yield place
        memo = folder / "paths" / place.name
        if place.name not in told and memo.is_file() and _newest(memo) < cutoff:
            told.add(place.name)  # a changed file has a place for each digest
            yield memo


def _names_gone_file(place: Path) -> bool:
    try:
        os.stat(json.loads(place.read_text())["path"])
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (KeyError, OSError, TypeError, ValueError):
        return False
    return False


def _sweep(paths: Iterator[Path], delete: bool) -> Amount:
    total = Amount()
    for path in list(paths):
        size = _size(path)
        try:
            if delete:
                path.unlink(missing_ok=True)
        except PermissionError:  # another user's; their memos cost little
            continue
        total += size
    return total


def _newest(path: Path) -> int:
    """Return when a file, or the youngest file of a folder, was written; 0 if there is none."""
    return max((status.st_mtime_ns for status in _statuses(path)), default=0)


def _size(path: Path) -> Amount:
    files = [status for status in _statuses(path) if not stat.S_ISDIR(status.st_mode)]
    return Amount(len(files), sum(status.st_size for status in files))


def _statuses(path: Path) -> Iterator[os.stat_result]:
    for each in (path, *_files(path)):
        with suppress(FileNotFoundError):
            yield each.lstat()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; files and folders may disappear meanwhile."""
    for inside, _, names in os.walk(folder):  # not rglob, which stops at a removed folder
        yield from (Path(inside, name) for name in names)
