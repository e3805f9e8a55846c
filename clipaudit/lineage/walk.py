"""The walk from pointers down to the actions that they come from."""

from collections.abc import Iterable
from pathlib import Path

from clipaudit.actions import ActionInput
from clipaudit.lineage.placements import placement
from clipaudit.lineage.records import Record, read_record
from clipaudit.store import Pointer, Store


def actions_below(results: Path, store: Store, pointers: Iterable[Path]) -> dict[str, Record]:
    """Return the records of the actions that made `pointers`, and those below them, by key.

    What an earlier run left in `results` and these pointers do not come from is not among them.
    """
    found: dict[str, Record] = {}
    waiting = [placement(results, pointer).action for pointer in pointers]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = read_record(store, key)
            inputs = found[key].ingredients.inputs.values()
            makers = (maker(results, file) for files in inputs for file in files)
            waiting += [action for action in makers if action]
    return found


def maker(results: Path, file: ActionInput) -> str | None:
    """Return the action that made a recorded input, None if it is a user's file.

    Where the same content lies at the same path, this is the action that put it there last; a
    record from another results folder, or of content replaced since, names its own.
    """
    path = Path(file.path)
    if path.is_relative_to(results) and path.is_file():
        if Pointer.read(path).digest == file.digest:
            return placement(results, path).action
    return file.action
