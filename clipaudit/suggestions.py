"""Suggest existing names for an unknown name, and options of a command for the same run."""

import difflib
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

_LISTED = 12  # names that a message lists; more would bury it


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return suggestions to append to an error about an unknown name; "" without names.

    >>> did_you_mean("similarty_table1", ["parrot_table1", "similarity_table1"])
    ' Did you mean similarity_table1 or parrot_table1?'
    >>> did_you_mean("x", ["parrot_table1", "similarity_table1"])
    ' Known names: parrot_table1, similarity_table1.'
    """
    known = sorted(set(names))
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f" Did you mean {' or '.join(close)}?"
    if not known:
        return ""
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f" Known names: {', '.join(known[:_LISTED])}{more}."


def similar_path(missing: Path, *, folders: bool = False, but: Path | None = None) -> Path | None:
    """Return an existing path whose name resembles that of a missing one, beside it; None if none.

    If the folder around it is missing, too, look for one similar to that. With `folders`, only
    folders count. The file `but` is never suggested.
    """
    beside = missing.parent
    if beside != missing and not os.path.exists(beside):  # Path.exists fails for a long name
        return similar_path(beside, folders=True)
    if not os.path.isdir(beside):
        return None
    others = (each for each in beside.iterdir() if but is None or each.resolve() != but.resolve())
    names = [each.name for each in others if each.is_dir() or not folders]
    near = difflib.get_close_matches(missing.name, names, n=1)
    return beside / near[0] if near else None


def cd_first(missing: Path) -> str:
    """Return where to go if the folder of an audit below this one has a missing path, else "".

    `clipaudit audit` runs in such a folder, `audit` by default, with its settings.
    """
    if missing.is_absolute():
        return ""
    folders = (settings.parent for settings in sorted(Path().glob("*/settings.yaml")))
    found = next((folder for folder in folders if (folder / missing).exists()), None)
    return f"{found / missing} exists: `cd {shlex.quote(str(found))}` first" if found else ""


def folder_options(results: Path | str, store: Path | str) -> str:
    """Return the options of a command for the same run; "" if their defaults name its folders.

    >>> folder_options("my results", "store"), folder_options(Path("results"), Path("store"))
    (" --results 'my results'", '')
    """
    named = {"results": results, "store": store}
    return "".join(
        f" --{name} {shlex.quote(str(path))}" for name, path in named.items() if str(path) != name
    )
