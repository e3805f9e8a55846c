"""Reachability: find the objects and stored actions that a store's roots still name.

A *root* is a results folder that uses the store, or a pin. It needs the objects of its pointers,
and the actions that placed them with all their outputs: these restore a removed pointer, or an
earlier epoch of a model, without computing.
"""

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clipaudit.errors import StoreError
from clipaudit.lineage.snapshots import Snapshot, pinned, pins
from clipaudit.store.placements import Placement, placement
from clipaudit.store.roots import roots
from clipaudit.store.store import Pointer, Store

_POINTER_FIELDS = {field.name for field in dataclasses.fields(Pointer)}


@dataclasses.dataclass(frozen=True)
class Root:
    """The names in one results folder or pin: pointers, digests of objects, keys of actions."""

    name: str
    pointers: int
    objects: frozenset[str]
    actions: frozenset[str]
    pin: str | None = None  # its name, if it is a pin


def pointer_files(results: Path) -> list[Path]:
    """Return the files below a results folder that may be pointers, in path order.

    Raise StoreError for a folder that cannot be read.
    """
    return sorted(results / inside for inside in _json_files(results))


def read_pointer(results: Path, path: Path) -> Pointer | None:
    """Return the pointer at a path; None for another file, or a missing one.

    Raise StoreError for a damaged pointer: it is not a pointer despite a placement, or it is blank
    or a truncated line of JSON, as a power cut leaves pointers.
    """
    try:
        return Pointer.read(path)
    except StoreError:
        if not path.is_file():
            return None
        if has_placement(results, path) or _is_truncated(path):
            raise
        return None


def has_placement(results: Path, path: Path) -> bool:
    """Return whether an action placed the file, even if the placement is damaged."""
    return (results / ".actions" / path.relative_to(results)).is_file()


def _digest(results: Path, inside: str) -> str | None:
    """Return the digest in the pointer at a path below `results`; None if it is not a pointer."""
    fields = fields_of(f"{results}/{inside}")
    if (
        fields.keys() == _POINTER_FIELDS
    ):  # nearly always: path objects would take three times as long
        return str(fields["digest"])
    pointer = read_pointer(results, results / inside)
    return pointer.digest if pointer else None


def _action(results: Path, inside: str) -> str | None:
    """Return the action that placed the pointer at a path below `results`; None if unknown."""
    fields = fields_of(f"{results}/.actions/{inside}")
    if "action" in fields:
        return str(fields["action"])
    placed = known_placement(results, results / inside)
    return placed.action if placed else None


def fields_of(path: str) -> dict[str, Any]:
    """Return the fields of a JSON file; none if it cannot be read, or holds something else."""
    try:
        with open(path, "rb") as file:
            fields = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return fields if isinstance(fields, dict) else {}


def known_placement(results: Path, pointer: Path) -> Placement | None:
    """Return the placement of a pointer; None if it is missing or damaged."""
    try:
        return placement(results, pointer)
    except (StoreError, TypeError, ValueError):
        return None
    except OSError as error:
        raise _unreadable(pointer, error) from error


def results_root(results: Path) -> Root:
    """Return the root of a results folder as it is now.

    Raise FileNotFoundError for a missing folder, StoreError if a part of it cannot be read: what it
    names would count as garbage.
    """
    try:
        os.stat(results)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(results, error) from error
    objects, actions, count = set(), set(), 0
    for inside in _json_files(results):
        digest = _digest(results, inside)
        if digest is None:
            continue
        count += 1
        objects.add(digest)
        action = _action(results, inside)
        if action is not None:
            actions.add(action)
    return Root(str(results), count, frozenset(objects), frozenset(actions))


def registered(store: Store) -> list[Path]:
    """Return the results folders that runs registered; raise StoreError for a broken register."""
    try:
        return roots(store)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{store.root / 'roots'}: a file there names no results folder ({error!r}). Remove "
            "empty files there, and give your results folders with --results."
        ) from error


def beside(store: Store) -> list[Path]:
    """Return the results folders next to a store: in a copied project none is registered.

    Folders with placements count. The paths are absolute.
    """
    folder = Path(os.path.abspath(store.root)).parent
    return sorted(path.parent for path in folder.glob("*/.actions"))


def forget(store: Store, gone: Iterable[Path]) -> None:
    """Remove results folders from the roots."""
    lost = set(map(str, gone))
    for path in (store.root / "roots").glob("*.json"):
        if json.loads(path.read_text())["results"] in lost:
            path.unlink(missing_ok=True)


def pin_roots(store: Store) -> list[Root]:
    """Return what each pin names, by name; raise StoreError for a pin that cannot be read."""
    return [
        Root(
            f"pin {name}",
            len(snapshot.placed),
            frozenset(placed.pointer.digest for placed in snapshot.placed.values()),
            frozenset(placed.placement.action for placed in snapshot.placed.values()),
            pin=name,
        )
        for name, snapshot in pinned_snapshots(store).items()
    ]


def pinned_snapshots(store: Store) -> Mapping[str, Snapshot]:
    """Return all pins by name; raise StoreError for one that cannot be read."""
    return {name: pinned(store, name) for name in pins(store)}


def _is_truncated(path: Path) -> bool:
    try:
        content = path.read_bytes().strip(b"\0 \n")
    except OSError as error:
        raise _unreadable(path, error) from error
    if not content or b"\n" in content or not content.startswith(b"{"):
        return not content
    try:
        json.loads(content)
    except ValueError:
        return True
    return False


def _json_files(
    results: Path, inside: str = "", above: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Yield JSON files below a folder, relative to `results`, without hidden files and folders.

    Linked folders count, as a stage may lie on another disk, except links to a folder `above`.
    """
    place = os.path.realpath(results / inside)
    if place in above:
        return
    try:
        with os.scandir(place) as entries:
            listed = [(entry.name, entry.is_dir()) for entry in entries]
    except FileNotFoundError:
        return  # removed after it was listed
    except OSError as error:
        raise _unreadable(results / inside, error) from error
    for name, is_folder in listed:
        if name.startswith("."):
            continue
        if is_folder:
            yield from _json_files(results, f"{inside}{name}/", above | {place})
        elif name.endswith(".json"):
            yield f"{inside}{name}"


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path}: cannot be read ({error.strerror}). Give this user read permission.")
