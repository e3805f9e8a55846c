"""Condemned files: objects and stored actions on their way out of a store, until that is certain.

    store/condemned/<host>-<process>-<time>/   what one collection has put aside, at its old path

Renaming takes a file away from writers in one step; what turns out to be young or needed after
that is put back by the collection, by a reader that misses it (`Store.flaw`), or, where the
collection was killed, by the next one. Folders of objects and of actions are never removed: a
writer may be about to use them.
"""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from clipaudit.errors import StoreError
from clipaudit.store import Store, put_back

Kind = Literal["objects", "actions"]

_SUFFIX: Mapping[Kind, str] = {"objects": "", "actions": ".json"}


class StoredFile(NamedTuple):
    """Size and time of modification, in nanoseconds, of an object or a stored action."""

    bytes: int
    time: int


def listed(store: Store, kind: Kind) -> dict[str, StoredFile]:
    """Return all objects by digest, or all stored actions by key."""
    found = {}
    for folder in _entries(store.root / kind):
        for entry in _entries(folder.path) if len(folder.name) == 2 and folder.is_dir() else ():
            if entry.name.endswith(_SUFFIX[kind]) and not entry.name.startswith("."):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    name = folder.name + entry.name.removesuffix(_SUFFIX[kind])
                    found[name] = StoredFile(status.st_size, status.st_mtime_ns)
    return found


class Condemned:
    """What one collection has put aside; what is younger than `cutoff` never is."""

    def __init__(self, store: Store, cutoff: int, now: int) -> None:
        """Put nothing aside yet; `now`, in nanoseconds, tells this collection from others."""
        self._store = store
        self._cutoff = cutoff
        self._folder = store.root / "condemned" / f"{os.uname().nodename}-{os.getpid()}-{now}"

    def put_aside(self, kind: Kind, name: str) -> bool:
        """Put an old file aside; False where it is young, or gone. StoreError where it cannot be.

        Its time is read before, so that what is needed is hardly ever missing for a moment, and
        after, when nobody can make it young any more.
        """
        path, aside = self._store.root / _inside(kind, name), self._folder / _inside(kind, name)
        try:
            aside.parent.mkdir(parents=True, exist_ok=True)
            if path.lstat().st_mtime_ns >= self._cutoff:
                return False
            os.rename(path, aside)
            if aside.lstat().st_mtime_ns < self._cutoff:
                return True
        except FileNotFoundError:  # removed; or another collection has tidied up `aside`
            return False
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be removed ({error.strerror}). Run gc as the user who made it."
            ) from error
        put_back(aside, path)
        return False

    def put_back(self, kind: Kind, name: str) -> None:
        """Put one file back, if it was put aside."""
        put_back(self._folder / _inside(kind, name), self._store.root / _inside(kind, name))

    def put_all_back(self) -> None:
        """Put back what was put aside and not removed."""
        _put_all_back(self._folder, self._store)

    def remove(self) -> None:
        """Remove what was put aside, for good."""
        shutil.rmtree(self._folder, ignore_errors=True)


def put_back_leftovers(store: Store) -> None:
    """Put back what collections that were killed had put aside."""
    for folder in (store.root / "condemned").glob("*"):
        _put_all_back(folder, store)


def _put_all_back(aside: Path, store: Store) -> None:
    for folder, _, names in os.walk(aside, topdown=False):
        for name in names:
            path = Path(folder, name)
            put_back(path, store.root / path.relative_to(aside))
        with suppress(OSError):  # a collection at work has put something there meanwhile
            os.rmdir(folder)


def _inside(kind: Kind, name: str) -> Path:
    return Path(kind, name[:2], name[2:] + _SUFFIX[kind])


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []
