"""Snapshots: the path of each pointer, and the action that placed it.

A results folder holds the current one; `clipaudit pin NAME` keeps one under a name, so that a later
run can be compared with it and its objects stay. A `RecordedRun` is either of them.

    store/pins/<name>.json   a kept snapshot
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from clipaudit.errors import InputError, StoreError
from clipaudit.store.actions import ActionInput
from clipaudit.store.placements import Placement, placement, placements
from clipaudit.store.store import Pointer, Store, replace_text
from clipaudit.suggestions import did_you_mean

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Placed:
    """A pointer and the action that placed it at its path."""

    pointer: Pointer
    placement: Placement


@dataclass(frozen=True)
class Snapshot:
    """All pointers of a run, by path relative to its results folder, in path order."""

    results: str  # the folder's name then: recorded inputs are below it
    placed: Mapping[str, Placed]


def snapshot(results: Path) -> Snapshot:
    """Return the snapshot of a results folder now."""
    placed = {
        path.relative_to(results).as_posix(): Placed(Pointer.read(path), placement)
        for path, placement in placements(results).items()
    }
    return Snapshot(str(results), placed)


def pin(store: Store, name: str, kept: Snapshot) -> None:
    """Keep a snapshot under a name.

    Raise InputError for a taken or invalid name, and for a store without any of its objects.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name a pin. Use letters, digits, dots, hyphens and underscores, "
            "100 at most, a letter or digit first."
        )
    path = _file(store, name)
    if path.exists():
        raise InputError(f"{path}: a pin {name} exists. Remove it first, or use another name.")
    digests = [placed.pointer.digest for placed in kept.placed.values()]
    if digests and not any(map(store.has, digests)):
        raise InputError(
            f"{store.root}: this store has no object of {kept.results}, so a pin would keep "
            "nothing. Give the store of these results with --store."
        )
    replace_text(path, json.dumps(asdict(kept), sort_keys=True) + "\n")


def unpin(store: Store, name: str) -> None:
    """Remove a kept snapshot; raise InputError, with similar names, if there is none."""
    _pin_file(store, name).unlink()


def pinned(store: Store, name: str) -> Snapshot:
    """Return a kept snapshot; raise InputError, with similar names, if there is none.

    Raise StoreError for a pin that cannot be read.
    """
    file = _pin_file(store, name)
    try:
        fields = json.loads(file.read_text())
        placed = {
            path: Placed(Pointer(**each["pointer"]), Placement(**each["placement"]))
            for path, each in fields["placed"].items()
        }
        return Snapshot(fields["results"], placed)
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        raise StoreError(
            f"{file}: not a pin ({error!r}). Restore the file, or remove it: objects that only it "
            "kept will then be collected."
        ) from error


def pins(store: Store) -> list[str]:
    """Return the names of all kept snapshots, sorted."""
    return sorted(path.stem for path in (store.root / "pins").glob("*.json"))


class RecordedRun:
    """The content of a results folder, now or as a pin kept it, read on demand."""

    def __init__(
        self,
        name: str,
        store: Store,
        paths: list[str],
        look: Callable[[str], Placed | None],
        folder: Path | None = None,
    ) -> None:
        """Take the paths of the report tables, and a function that looks up any path."""
        self.name = name
        self.folder = folder  # None for a pin
        self.store = store
        self.paths = paths
        self.at = cache(look)  # by path relative to the results folder; None if nothing was there
        self.inside = cache(self._inside)
        self._above = 1  # leading parts of recorded paths that name the results folder

    def tables(self) -> dict[str, Placed]:
        """Return the pointers of report tables and of figures' tables, in path order."""
        found = {path: self.at(path) for path in sorted(self.paths)}
        return {
            path: placed
            for path, placed in found.items()
            if placed and placed.placement.output == "table"
        }

    def _inside(self, recorded: str) -> str:
        """Return a recorded path relative to the results folder, whatever its name was then.

        Return the path unchanged if no ending of it is a path of this run.
        """
        parts = PurePosixPath(recorded).parts
        for above in (self._above, *range(len(parts))):
            path = "/".join(parts[above:])
            if path and not path.startswith("/") and self.at(path):
                self._above = above
                return path
        return recorded

    def files(self, inputs: Iterable[ActionInput]) -> list[tuple[str, ActionInput]]:
        """Return recorded inputs by path: relative to the results folder; a user's unchanged."""
        return [(self.inside(file.path) if file.action else file.path, file) for file in inputs]

    def maker(self, file: ActionInput) -> str | None:
        """Return the action that made a recorded input in this run; None for a user's file.

        If the same content was at the same path, this is the action that placed it there.
        """
        if file.action is None:
            return None
        placed = self.at(self.inside(file.path))
        same = placed is not None and placed.pointer.digest == file.digest
        return placed.placement.action if placed and same else file.action


def open_run(name: str, store: Store) -> RecordedRun:
    """Return the run of this name: a pin of `store`, else a results folder.

    Use `./name` for a folder with the name of a pin. Raise InputError, with similar names, if there
    is neither.
    """
    if name in pins(store):
        kept = pinned(store, name).placed
        tables = [path for path in kept if path.startswith(("tables/", "figures/"))]
        return RecordedRun(name, store, tables, kept.get)
    if not _is_results(Path(name)):
        raise InputError(
            f"{name}: no pin of {store.root} has this name, and it is not a results folder (which "
            "has a folder .actions)."
            f"{did_you_mean(name, pins(store)) or ' `clipaudit pin NAME` keeps a run by name.'}"
        )
    return folder_run(Path(name), store)


def folder_run(results: Path, store: Store) -> RecordedRun:
    """Return a results folder as it is now; its records are in the store that its links lead to.

    If the links are broken, as in a copy, that is `store`. Raise InputError for a folder that no
    run has filled.
    """
    check_results(results)

    def look(path: str) -> Placed | None:
        pointer = results / path
        if not pointer.is_file():
            return None
        try:
            return Placed(Pointer.read(pointer), placement(results, pointer))
        except StoreError:
            return None  # a user's file, or one whose record was removed

    places = [
        path.relative_to(results / ".actions").as_posix()
        for stage in ("tables", "figures")
        for path in (results / ".actions" / stage).glob("*.json")
    ]
    return RecordedRun(str(results), _store_of(results) or store, places, look, results)


def check_results(results: Path) -> None:
    """Raise InputError for a folder that no run has filled."""
    if not _is_results(results):
        raise InputError(
            f"{results}: not a run's results folder (which has a folder .actions). Give the right "
            "one with --results."
        )


def _is_results(folder: Path) -> bool:
    return (folder / ".actions").is_dir()


def _store_of(results: Path) -> Store | None:
    """Return the store that the links of a results folder lead to; None if it is missing."""
    for link in results.glob("*/*.parquet"):  # tables and figures; parts are deeper
        if link.is_symlink():
            target = os.path.normpath(link.parent.resolve() / link.readlink())
            root = Path(target).parents[2]
            return Store(root) if (root / "lineage").is_dir() else None
    return None


def _pin_file(store: Store, name: str) -> Path:
    names = pins(store)
    if name not in names:
        raise InputError(
            f"{store.root / 'pins'}: no pin {name!r}."
            f"{did_you_mean(name, names) or ' No run is pinned.'}"
        )
    return _file(store, name)


def _file(store: Store, name: str) -> Path:
    return store.root / "pins" / f"{name}.json"
