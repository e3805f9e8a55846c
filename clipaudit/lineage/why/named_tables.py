"""Find tables of a run by name, such as `similarity_table1`, or by a path to any form of one."""

from dataclasses import dataclass
from pathlib import Path

from clipaudit.errors import InputError, StoreError
from clipaudit.store.placements import Placement, placement
from clipaudit.store.store import Pointer, Store, file_sha256
from clipaudit.suggestions import did_you_mean

_SHOWN = ("tables", "figures")  # folders of a run whose tables can be given by name
_FORMS = {".json", ".parquet", ".csv", ".md", ".tex", ".svg", ".png"}


@dataclass(frozen=True)
class NamedTable:
    """A pointer, the action that placed it, and its object's path if the object exists."""

    path: Path  # of the pointer
    pointer: Pointer
    placement: Placement
    object: Path | None


def find_table(results: Path, store: Store, name: str) -> NamedTable:
    """Return the table that a name or a path means, in any of its forms (.md, .csv ...).

    Raise InputError, with similar names, if there is none, and StoreError for a damaged pointer, an
    altered object, or a pointer without a known action.
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
    """Return a pointer's path below `results` as given, because records use that name."""
    try:
        return results / path.absolute().relative_to(results.absolute())
    except ValueError as error:
        raise InputError(
            f"{path}: outside the results folder {results}. Give its own with --results."
        ) from error


def _without_forms(name: str) -> str:
    """Return a file's name without its form: x.csv.json and x.parquet are both x."""
    while (suffix := Path(name).suffix) in _FORMS:
        name = name.removesuffix(suffix)
    return name


def _object(store: Store, pointer: Pointer) -> Path | None:
    """Return the object of a pointer after hashing it: altered data must not be shown."""
    path = store.path(pointer.digest)
    if not path.is_file():
        return None
    if file_sha256(path) != pointer.digest:
        raise StoreError(
            f"{path}: the object was altered since it was written. Run `clipaudit verify`."
        )
    return path
