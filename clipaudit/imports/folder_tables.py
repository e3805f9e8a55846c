"""Reads tables of images: `metadata.csv` and `.jsonl`, as in Hugging Face's ImageFolder.

A table describes the images of its folder and below, by `file_name`; its other columns become the
fields of their JSON. `captions.csv` and `captions.jsonl` are read in the same way.
"""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clipaudit.errors import InputError
from clipaudit.plaindata import Json

TABLES = ("metadata.csv", "metadata.jsonl", "captions.csv", "captions.jsonl")
FILE_COLUMNS = ("file_name", "filename", "file", "image", "path")  # the first one there is
MAX_FIELD_CHARACTERS = 1 << 20  # of a cell: a longer one is not a caption


def read_tables(folder: Path) -> dict[str, Json]:
    """Return the rows of the tables below a folder, by the image's path within the folder.

    If several tables have a field, the last one wins: a deeper folder's, then by name. Missing
    images are skipped. Raise InputError for a table that cannot be read, or that is a link out of
    the folder.
    """
    found: dict[str, Json] = {}
    real = folder.resolve()
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(set(files).intersection(TABLES)):
            path = Path(place, name)
            if not lies_within(path, real):
                raise InputError(f"{path}: a link out of {folder}. Put the table itself there.")
            for line, row in _rows(path):
                within = _place(path, line, row, folder)
                found[within] = {**found.get(within, {}), **row}
    return found


def lies_within(path: Path, folder: Path) -> bool:
    """Return whether a file, with links resolved, is in a folder, whose path is resolved."""
    return path.resolve().is_relative_to(folder)


def _place(path: Path, line: int, row: dict[str, Any], folder: Path) -> str:
    """Remove the name of the image from a row; return its path within the folder."""
    column = next((name for name in FILE_COLUMNS if isinstance(row.get(name), str)), None)
    if column is None:
        raise InputError(
            f"{path}: row {line} names no image: it has {', '.join(map(str, row)) or 'nothing'}, "
            f"but none of {', '.join(FILE_COLUMNS)}. Name the column `file_name`; if the table is "
            "about something else, give it another name."
        )
    return os.path.normpath(os.path.join(os.path.relpath(path.parent, folder), row.pop(column)))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the rows of a table, numbered from 1."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from enumerate(_csv(file) if path.suffix == ".csv" else _jsonl(file), 1)
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}. Correct it, or remove it.") from error


def _csv(file: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    csv.field_size_limit(MAX_FIELD_CHARACTERS)
    reader = csv.DictReader(file)
    for row in reader:
        extra = row.pop(None, None)
        if extra:
            raise ValueError(
                f"line {reader.line_num}: a row has {len(extra)} more cells than the header"
            )
        yield {name: text for name, text in row.items() if text}


def _jsonl(file: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:  # it counts lines within this one
                raise ValueError(f"line {number}, character {error.colno}: {error.msg}") from error
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is a {type(row).__name__}, expected an object")
            yield row
