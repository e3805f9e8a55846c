"""Class names: one a line of a text file, the line number, from 0, being the label."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clipaudit.corpora.captions import Captioning
from clipaudit.errors import InputError


def read_classes(path: Path) -> tuple[str, ...]:
    """Return the class names of a file, in label order; names may repeat, lines may not be empty.

    Raise InputError for a file that is missing, empty, not UTF-8, or has an empty line.
    """
    try:
        names = tuple(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the class names cannot be read: {error}") from error
    empty = [number for number, name in enumerate(names, 1) if not name.strip()]
    if empty or not names:
        what = f"line {empty[0]} is empty" if empty else "the file is empty"
        raise InputError(f"{path}: {what}. Write one class name a line, in label order.")
    return names


def captioning_of(settings: Mapping[str, Any], classes: Path | None) -> Captioning:
    """Return how a corpus's captions and labels are read, from its slice of the settings."""
    names = read_classes(classes) if classes else ()
    template = settings["template"] or Captioning.template
    return Captioning(settings["source"], template, names)
