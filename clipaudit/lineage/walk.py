"""The walk from pointers down to the actions that they come from."""

import os
from collections.abc import Iterable, Sequence
from functools import cache
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
        self._inside = f"{results}{os.sep}"
        self._digest = cache(self._read_digest)
        self._action = cache(lambda path: placement(results, Path(path)).action)

    def maker(self, file: ActionInput) -> str | None:
        """Return the action that made a recorded input, None if it is a user's file.

        Where the same content lies at the same path, this is the action that put it there last; a
        record from another results folder, or of content replaced since, names its own.
        """
        is_there = self._digest(file.path) == file.digest
        return self._action(file.path) if is_there else file.action

    def _read_digest(self, path: str) -> str | None:
        """Return what the pointer at a path names, None where there is no pointer."""
        is_inside = path.startswith(self._inside) and path.endswith(".json")
        there = is_inside and os.path.isfile(path)
        return Pointer.read(Path(path)).digest if there else None


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
