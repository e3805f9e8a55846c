"""Roots: results folders whose pointers name objects of a store.

    store/roots/<hash of the path>.json   one results folder, by absolute path

Each step registers its folder, so that no object that any user's run still names is collected.
"""

import hashlib
import json
import os
from pathlib import Path

from clipaudit.errors import StoreError
from clipaudit.store.store import Store, replace_text


def register(store: Store, results: Path) -> None:
    """Remember that pointers below `results` name objects of this store.

    The folder gets its folder of placements, by which `is_mounted` knows it.
    """
    path = os.path.abspath(results)
    file = _folder(store) / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
    text = json.dumps({"results": path}) + "\n"
    (results / ".actions").mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:  # a crash of the machine truncates it
        replace_text(file, text)


def is_mounted(results: Path) -> bool:
    """Return whether a registered folder is there: an empty one is where its disk belongs."""
    return (results / ".actions").is_dir()


def roots(store: Store) -> list[Path]:
    """Return the registered results folders of this store, sorted; they may not exist.

    Raise StoreError for a record that a crash of the machine has truncated: what its folder names
    must not be collected.
    """
    return sorted(map(_root, _folder(store).glob("*.json")))


def _root(file: Path) -> Path:
    try:
        return Path(json.loads(file.read_text())["results"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"{file}: not the record of a results folder ({error!r}). Remove it, and start each "
            "run that uses this store again: it writes the record anew."
        ) from error


def _folder(store: Store) -> Path:
    return store.root / "roots"
