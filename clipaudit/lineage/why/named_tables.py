"""The tables of a run that people name: `similarity_table1`, or a path to any form of one."""

from dataclasses import dataclass
from pathlib import Path

from clipaudit.errors import InputError, StoreError
from clipaudit.store.placements import Placement, placement
from clipaudit.store.store import Pointer, Store, file_sha256
from clipaudit.suggestions import did_you_mean

_SHOWN = ("tables", "figures")  # folders of a run whose tables are known by name alone
_FORMS = {".json", ".parquet", ".csv", ".md", ".tex", ".svg", ".png"}


@dataclass(frozen=True)
class NamedTable:
    """A pointer, the action that put it there, and where its object lies if it is at hand."""

    path: Path  # of the pointer
    pointer: Pointer
    placement: Placement
    object: Path | None


def find_table(results: Path, store: Store, name: str) -> NamedTable:
    """Return the table that a name or a path means; any of its forms will do (.md, .csv ...).

    Raises InputError, with the nearest names, where there is none, and StoreError for a pointer
    that is damaged, whose object was altered, or that no action is known to have put there.
    """
    path = _pointer(results, name)
    pointer, placed = Pointer.read(path), placement(results, path)
    return NamedTable(path, pointer, placed, _object(store, pointer))


def _pointer(results: Path, name: str) -> Path:
    given = Path(name)
    stem = _without_forms(given.name)
    folders = [results / shown for shown in _SHOWN] if given.name == name else []
    for folder in [given.parent, *folders]:
        path = folder / f"{stem}.json"
        if path.is_file():
            return _inside(results, path)
    known = [
        _without_forms(each.name) for folder in _SHOWN for each in (results / folder).glob("*.json")
    ]
    next_step = " It has no tables yet: `clipaudit run SETTINGS all_tables` makes them."
    raise InputError(f"{results}: no table {name!r}.{did_you_mean(stem, known) or next_step}")


def _inside(results: Path, path: Path) -> Path:
    """Return a pointer's path as below `results`, as it was named: records name it like that."""
    try:
        return results / path.absolute().relative_to(results.absolute())
    except ValueError as error:
        raise InputError(
            f"{path}: lies outside the results folder {results}. Name its own by --results."
        ) from error


def _without_forms(name: str) -> str:
    """Return a file's name without what says its form: x.csv.json and x.parquet are both x."""
    while (suffix := Path(name).suffix) in _FORMS:
        name = name.removesuffix(suffix)
    return name


def _object(store: Store, pointer: Pointer) -> Path | None:
    """Return the object of a pointer, hashed: what is shown must be what was made."""
    path = store.path(pointer.digest)
    if not path.is_file():
        return None
    if file_sha256(path) != pointer.digest:
        raise StoreError(
            f"{path}: the object was altered since it was written. Run `clipaudit verify`."
        )
    return path
