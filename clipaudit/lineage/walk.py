"""The walk from pointers down to the actions that they come from."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from clipaudit.store.actions import ActionInput
from clipaudit.store.placements import placement
from clipaudit.store.records import Record, read_record, read_records
from clipaudit.store.store import Pointer, Store


class Makers:
    """Who made the files that actions read, by what lies in a results folder now.

    Each pointer and its placement are read once, so it is for one walk, not for the life of a
    process that outlasts a run.
    """

    def __init__(self, results: Path) -> None:
        """Look below `results`; nothing is read before it is asked for."""
        self.results = results
        self._inside = f"{results}{os.sep}"
        self._digests: dict[str, str | None] = {}
        self._actions: dict[str, str] = {}

    def maker(self, file: ActionInput) -> str | None:
        """Return the action that made a recorded input, None if it is a user's file.

        Where the same content lies at the same path, this is the action that put it there last; a
        record from another results folder, or of content replaced since, names its own.
        """
        if self._digest(file.path) != file.digest:
            return file.action
        if file.path not in self._actions:
            self._actions[file.path] = placement(self.results, Path(file.path)).action
        return self._actions[file.path]

    def _digest(self, path: str) -> str | None:
        """Return what the pointer at a path names, None where there is no pointer."""
        if not (path.startswith(self._inside) and path.endswith(".json")):
            return None
        if path not in self._digests:
            there = os.path.isfile(path)
            self._digests[path] = Pointer.read(Path(path)).digest if there else None
        return self._digests[path]


def actions_below(results: Path, store: Store, pointers: Iterable[Path]) -> dict[str, Record]:
    """Return the records of the actions that made `pointers`, and those below them, by key.

    Those nearer to the pointers come first. What an earlier run left in `results` and these
    pointers do not come from is not among them. Raise StoreError for an action without a record.
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


def known_records(store: Store, keys: Sequence[str]) -> dict[str, Record]:
    """Return the records of these actions, in order; raise StoreError for one without."""
    found = read_records(store, keys)
    # read_record says what is wrong with one that is missing
    return {key: found[key] if key in found else read_record(store, key) for key in keys}


def _inputs(record: Record) -> list[ActionInput]:
    return [file for files in record.ingredients.inputs.values() for file in files]
