"""Placements: records of the action that placed each pointer.

    results/.actions/<path of a pointer>   the action's key, its output's name and labels; written
        also on cache hits

Never an input of a rule.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.store.store import replace_text


@dataclass(frozen=True)
class Placement:
    """The record of a pointer: action key, output name and labels (wildcards and more)."""

    action: str
    output: str
    labels: Mapping[str, str]


def place(results: Path, pointer: Path, placement: Placement) -> None:
    """Record which action gave the pointer at this path."""
    replace_text(_placement_file(results, pointer), json.dumps(asdict(placement), sort_keys=True))


def placement(results: Path, pointer: Path) -> Placement:
    """Return the record of a pointer; raise StoreError if there is none."""
    path = _placement_file(results, pointer)
    try:
        return Placement(**json.loads(path.read_text()))
    except FileNotFoundError as error:
        raise StoreError(
            f"{pointer}: no record of the action that made it ({path} is missing). "
            f"Remove the pointer and `clipaudit run SETTINGS {pointer}`: the store still has the "
            "content."
        ) from error
    except (TypeError, ValueError) as error:  # a power cut leaves such a file
        raise StoreError(
            f"{path}: not a record of an action ({error}). Remove it and {pointer}, and run "
            f"`clipaudit run SETTINGS {pointer}`: the store still has the content."
        ) from error


def placements(results: Path) -> dict[Path, Placement]:
    """Return the records of all pointers below `results` that exist, in path order."""
    folder = results / ".actions"
    found = {}
    for path in sorted(folder.rglob("*.json")):
        pointer = results / path.relative_to(folder)
        if pointer.is_file():
            found[pointer] = placement(results, pointer)
    return found


def _placement_file(results: Path, pointer: Path) -> Path:
    try:
        inside = pointer.absolute().relative_to(results.absolute())
    except ValueError as error:
        raise StoreError(f"{pointer}: outside the results folder {results}.") from error
    return results / ".actions" / inside
