"""Lineage: which action put what where, and what each action was made of.

    store/lineage/ab/cdef.../<start>-<process>.json   one execution of the action `abcdef...`: its
        ingredients in the clear, the pointers it gave, library versions, start, seconds, host and
        peak memory
    results/.actions/<path of a pointer>              the action that put this pointer there, its
        output's name and labels; written on cache hits too

Neither is ever an input of a rule. Together they are the graph that `clipaudit why` walks.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from clipaudit.actions import ActionOutput, Ingredients
from clipaudit.errors import StoreError
from clipaudit.store import Pointer, Store, replace_text


@dataclass(frozen=True)
class Placement:
    """The record beside a pointer: action key, output name and labels (wildcards and more)."""

    action: str
    output: str
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Execution:
    """The circumstances of one execution; they never enter a key."""

    started: str
    seconds: float
    host: str
    peak_memory_mb: int
    threads: int
    versions: Mapping[str, str]
    written: Mapping[str, float]  # output -> seconds after the start: an epoch's end, for one


def place(results: Path, pointer: Path, placement: Placement) -> None:
    """Record which action gave the pointer at this path."""
    replace_text(_placement_file(results, pointer), json.dumps(asdict(placement), sort_keys=True))


def placement(results: Path, pointer: Path) -> Placement:
    """Return the record of a pointer; raise StoreError when there is none."""
    path = _placement_file(results, pointer)
    try:
        return Placement(**json.loads(path.read_text()))
    except FileNotFoundError as error:
        raise StoreError(
            f"{pointer}: no record of the action that made it ({path} is missing). "
            f"Remove the pointer and run `snakemake {pointer}`: the store still has the content."
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


def actions_below(results: Path, store: Store, pointers: Iterable[Path]) -> dict[str, Any]:
    """Return the records of the actions that made `pointers`, and those below them, by key.

    What an earlier run left in `results` and these pointers do not come from is not among them.
    """
    found: dict[str, Any] = {}
    waiting = [placement(results, pointer).action for pointer in pointers]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = read_record(store, key)
            inputs = found[key]["ingredients"]["inputs"].values()
            makers = (maker(results, file) for files in inputs for file in files)
            waiting += [action for action in makers if action]
    return found


def maker(results: Path, file: Mapping[str, Any]) -> str | None:
    """Return the action that made a recorded input, None if it is a user's file.

    Where the same content lies at the same path, this is the action that put it there last; a
    record from another results folder, or of content replaced since, names its own.
    """
    path = Path(file["path"])
    if path.is_relative_to(results) and path.is_file():
        if Pointer.read(path).digest == file["digest"]:
            return placement(results, path).action
    recorded: str | None = file["action"]
    return recorded


def _placement_file(results: Path, pointer: Path) -> Path:
    try:
        inside = pointer.absolute().relative_to(results.absolute())
    except ValueError as error:
        raise StoreError(f"{pointer}: lies outside the results folder {results}.") from error
    return results / ".actions" / inside


def record_execution(
    store: Store,
    key: str,
    ingredients: Ingredients,
    outputs: Mapping[str, ActionOutput],
    wildcards: Mapping[str, str],
    execution: Execution,
) -> None:
    """Write the record of one execution; `wildcards` say what its job was about."""
    record = {
        "action": key,
        "ingredients": asdict(ingredients),
        "outputs": {name: asdict(output) for name, output in outputs.items()},
        "wildcards": dict(wildcards),
        "execution": asdict(execution),
    }
    name = f"{execution.started.replace(':', '')}-{os.getpid()}.json"
    path = store.root / "lineage" / key[:2] / key[2:] / name
    replace_text(path, json.dumps(record, sort_keys=True, indent=1) + "\n")


def read_record(store: Store, key: str) -> dict[str, Any]:
    """Return the record of the last execution of an action; raise StoreError when there is none."""
    folder = store.root / "lineage" / key[:2] / key[2:]
    names = sorted(folder.glob("*.json"))
    if not names:
        raise StoreError(f"{folder}: no lineage record of action {key}.")
    record: dict[str, Any] = json.loads(names[-1].read_text())
    return record
