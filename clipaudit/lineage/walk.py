"""Walk from pointers to the actions that they come from."""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from clipaudit.store.actions import ActionInput
from clipaudit.store.placements import placement
from clipaudit.store.records import Record, read_record, read_records
from clipaudit.store.store import Pointer, Store


class Makers:
    """Find the makers of files that actions read, in a results folder as it is now.

    Each pointer and its placement are read once, so use it for one walk, not in a process that
    outlives a run.
    """

    def __init__(self, results: Path) -> None:
        """Look below `results`; read only on demand."""
        self._results, self._within = results, Path(os.path.abspath(results)).parts
        self._pointer = cache(self._find_pointer)
        self._digest = cache(lambda pointer: Pointer.read(pointer).digest)
        self._action = cache(lambda pointer: placement(results, pointer).action)

    def maker(self, file: ActionInput) -> str | None:
        """Return the action that made a recorded input; None for a user's file.

        If the same content is at the same path, this is the action that placed it last. Otherwise
        (another results folder, or content replaced since) it is the recorded action.
        """
        there = self._pointer(file.path)
        is_there = there is not None and self._digest(there) == file.digest
        return self._action(there) if is_there else file.action

    def _find_pointer(self, path: str) -> Path | None:
        """Return the pointer at a recorded path, which is from any folder above `results`."""
        parts = Path(path).parts if path.endswith(".json") else ()
        for count in range(1, len(parts)):
            pointer = self._results.joinpath(*parts[count:])
            if self._within[-count:] == parts[:count] and pointer.is_file():
                return pointer
        return None


def actions_below(results: Path, store: Store, pointers: Iterable[Path]) -> dict[str, Record]:
    """Return the records of the actions behind `pointers`, direct and indirect, by key.

    Actions nearer to the pointers come first. Files of an earlier run in `results` are not included
    unless the pointers come from them. Raise StoreError for an action without a record.
    """
    makers = Makers(results)
    found: dict[str, Record] = {}
    level = list(dict.fromkeys(placement(results, pointer).action for pointer in pointers))
    while level:
        found |= known_records(store, level)
        files = (file for key in level for file in _inputs(found[key]))
        below = dict.fromkeys(makers.maker(file) for file in files)
        level = [key for key in below if key and key not in found]
    return found


def outdated(results: Path, store: Store, pointers: Sequence[Path], stage: str) -> list[Path]:
    """Return those of `pointers` that come from parts of `stage` that `results` no longer has.

    Such parts have other content now, or are gone. Raise StoreError as `actions_below`.
    """
    now = {Pointer.read(path).digest for path in (results / stage).glob("*/*.json")}  # links, too
    makers = Makers(results)
    readers: dict[str | None, list[str]] = {}  # of the files that an action made
    found: list[str | None] = []
    for key, record in actions_below(results, store, pointers).items():
        for file in _inputs(record):
            readers.setdefault(makers.maker(file), []).append(key)
            if Path(file.path).parts[-3:-2] == (stage,) and file.digest not in now:
                found.append(key)
    gone = set(found)
    while found:
        above = set(readers.get(found.pop(), ())) - gone
        gone |= above
        found += above
    return [pointer for pointer in pointers if placement(results, pointer).action in gone]


def known_records(store: Store, keys: Sequence[str]) -> dict[str, Record]:
    """Return the records of these actions, in order; raise StoreError for one without."""
    found = read_records(store, keys)
    # for a missing record, read_record raises the error
    return {key: found[key] if key in found else read_record(store, key) for key in keys}


def _inputs(record: Record) -> list[ActionInput]:
    return [file for files in record.ingredients.inputs.values() for file in files]
