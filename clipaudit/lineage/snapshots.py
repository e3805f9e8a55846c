"""Snapshots: which pointer lay where, and which action had put it there.

A results folder holds the one of now; `clipaudit pin NAME` keeps one by name, so that a later run
can be set against it and the objects that it names stay.

    store/pins/<name>.json   a kept snapshot
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from clipaudit.errors import InputError
from clipaudit.lineage.placements import Placement, placements
from clipaudit.store import Pointer, Store, replace_text
from clipaudit.suggestions import did_you_mean

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Placed:
    """A pointer and the action that put it at its path."""

    pointer: Pointer
    placement: Placement


@dataclass(frozen=True)
class Snapshot:
    """All pointers of a run, by path relative to its results folder, in path order."""

    results: str  # the folder, as it was named: recorded inputs lie below it
    placed: Mapping[str, Placed]


def snapshot(results: Path) -> Snapshot:
    """Return what lies below a results folder now."""
    placed = {
        path.relative_to(results).as_posix(): Placed(Pointer.read(path), placement)
        for path, placement in placements(results).items()
    }
    return Snapshot(str(results), placed)


def pin(store: Store, name: str, kept: Snapshot) -> None:
    """Keep a snapshot under a name; raises InputError for a name that is taken or no name."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name a pin. Use letters, digits, dots, hyphens and underscores, "
            "100 at most, a letter or digit first."
        )
    path = _file(store, name)
    if path.exists():
        raise InputError(f"{path}: a pin {name} exists. Remove it first, or take another name.")
    replace_text(path, json.dumps(asdict(kept), sort_keys=True) + "\n")


def unpin(store: Store, name: str) -> None:
    """Forget a kept snapshot; raises InputError, with the nearest names, where there is none."""
    pinned(store, name)
    _file(store, name).unlink()


def pinned(store: Store, name: str) -> Snapshot:
    """Return a kept snapshot; raises InputError, with the nearest names, where there is none."""
    names = pins(store)
    if name not in names:
        raise InputError(f"{store.root / 'pins'}: no pin {name!r}.{did_you_mean(name, names)}")
    fields = json.loads(_file(store, name).read_text())
    placed = {
        path: Placed(Pointer(**each["pointer"]), Placement(**each["placement"]))
        for path, each in fields["placed"].items()
    }
    return Snapshot(fields["results"], placed)


def pins(store: Store) -> list[str]:
    """Return the names of all kept snapshots, sorted."""
    return sorted(path.stem for path in (store.root / "pins").glob("*.json"))


def _file(store: Store, name: str) -> Path:
    return store.root / "pins" / f"{name}.json"
