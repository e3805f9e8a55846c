"""Condemned files: objects and stored actions moved aside until their removal is certain.

    store/condemned/<host>-<process>-<time>/   files that one collection moved aside, by old path

Renaming hides a file from writers in one step. A file that then turns out to be young or needed is
put back by the collection, by a reader that misses it (`Store.flaw`), or, if the collection was
killed, by the next one. Folders of objects and of actions are never removed: a writer may be about
to use them.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from pyarrow.fs import FileSelector, LocalFileSystem

from clipaudit.errors import StoreError
from clipaudit.store.store import Store, put_back

Kind = Literal["objects", "actions"]

# An object's digest or an action's key, its bytes, and its modification time in nanoseconds. A
# plain tuple, because there may be millions: a named tuple takes twice the time.
StoredFile = tuple[str, int, int]

_AT_ONCE = 8  # folders: network disks answer several requests at a time
_SUFFIX: Mapping[Kind, str] = {"objects": "", "actions": ".json"}


def stored_files(store: Store, kind: Kind) -> Iterator[StoredFile]:
    """Yield all objects, or all stored actions; those removed meanwhile may be missing.

    Several folders are read in parallel without the GIL: a million files in two seconds.
    """
    folders = sorted(path for path in (store.root / kind).glob("??") if path.is_dir())
    read = partial(_files_of, suffix=_SUFFIX[kind])
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for start in range(0, len(folders), _AT_ONCE):
            for files in threads.map(read, folders[start : start + _AT_ONCE]):
                yield from files


class Condemned:
    """The files that one collection moved aside; files younger than `cutoff` never are."""

    def __init__(self, store: Store, cutoff: int, now: int) -> None:
        """Move nothing aside yet; `now`, in nanoseconds, identifies this collection."""
        self._store = store
        self._cutoff = cutoff
        self._folder = store.root / "condemned" / f"{os.uname().nodename}-{os.getpid()}-{now}"

    def put_aside(self, kind: Kind, name: str) -> bool:
        """Move an old file aside; False if it is young or gone. Raise StoreError if that fails.

        Its time is read before, so that a needed file is rarely missing for a moment, and after,
        when nobody can make it young any more.
        """
        path, aside = self._store.root / _inside(kind, name), self._folder / _inside(kind, name)
        try:
            aside.parent.mkdir(parents=True, exist_ok=True)
            if path.lstat().st_mtime_ns >= self._cutoff:
                return False
            os.rename(path, aside)
            if aside.lstat().st_mtime_ns < self._cutoff:
                return True
        except FileNotFoundError:  # removed, or another collection removed `aside`
            return False
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be removed ({error.strerror}). Run gc as the user who made it."
            ) from error
        put_back(aside, path)
        return False

    def put_back(self, kind: Kind, name: str) -> None:
        """Put one file back, if it was moved aside."""
        put_back(self._folder / _inside(kind, name), self._store.root / _inside(kind, name))

    def put_all_back(self) -> None:
        """Put back all files that were moved aside and not removed."""
        _put_all_back(self._folder, self._store)

    def remove(self) -> None:
        """Remove for good what was moved aside."""
        shutil.rmtree(self._folder, ignore_errors=True)


def put_back_leftovers(store: Store) -> None:
    """Put back what killed collections had moved aside."""
    for folder in (store.root / "condemned").glob("*"):
        _put_all_back(folder, store)


def _put_all_back(aside: Path, store: Store) -> None:
    for folder, _, names in os.walk(aside, topdown=False):
        for name in names:
            path = Path(folder, name)
            put_back(path, store.root / path.relative_to(aside))
        with suppress(OSError):  # a running collection has moved something there meanwhile
            os.rmdir(folder)


def _inside(kind: Kind, name: str) -> Path:
    return Path(kind, name[:2], name[2:] + _SUFFIX[kind])


def _files_of(folder: Path, suffix: str) -> list[StoredFile]:
    """Return the files of one folder of objects or actions, except files being written."""
    found = LocalFileSystem().get_file_info(FileSelector(str(folder), allow_not_found=True))
    return [
        (folder.name + name.removesuffix(suffix), entry.size, entry.mtime_ns)
        for entry in found
        if entry.is_file and (name := entry.base_name)[0] != "." and name.endswith(suffix)
    ]
