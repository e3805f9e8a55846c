"""Reads and writes lists of image files: shards of a folder whose images are read in place.

A list is JSON, one object per line. The first one names the folder; each further one is a row:

    {"format": "clipaudit image list 1", "folder": "/data/val"}
    {"file": "cats/1.jpg", "sha256": "...", "txt": "a cat", "cls": 0, "json": {"licence": "CC0"}}
    {"file": "cats/2.jpg", "fault": "unreadable file", "detail": "Permission denied"}
    {"file": "cats/3.jpg", "sha256": "...", "json": "[1]"}

The last one's `.json` holds no object, so its text is kept. The list contains the texts and the
digests of the images, so its own digest covers everything that is read through it. Standard library
only.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from clipaudit.corpora.shards import RawSample, shown
from clipaudit.errors import InputError
from clipaudit.plaindata import Json

FORMAT = "clipaudit image list 1"


def list_text(folder: Path, rows: list[Json]) -> str:
    """Return a list of images below a folder; `rows` as the module describes them.

    Names that are not UTF-8 are kept: JSON escapes their bytes.
    """
    head = {"format": FORMAT, "folder": os.fspath(folder)}
    return "".join(f"{json.dumps(each, sort_keys=True)}\n" for each in [head, *rows])


def read_list(path: Path) -> tuple[Path, list[Json]]:
    """Return the folder and the rows of a list; raise InputError for any other file."""
    try:
        head, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        sound = head["format"] == FORMAT and all(isinstance(row["file"], str) for row in rows)
    except OSError as error:
        raise InputError(
            f"{path}: the list cannot be read ({error.strerror}). Check the path in the config."
        ) from error
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise InputError(
            f"{path}: not a list of images. Write it by `clipaudit import folder`, or name tars."
        )
    return Path(head["folder"]), rows


def listed_samples(path: Path, wanted: Callable[[int], bool] | None) -> Iterator[RawSample]:
    """Yield the samples of a list in order; the key is the path within the folder.

    Raise InputError for an image that is missing or has changed since it was listed.
    """
    folder, rows = read_list(path)
    for number, row in enumerate(rows):
        if wanted is None or wanted(number):
            key = shown(os.fsencode(row["file"]))
            fault = row.get("fault")
            members = {} if fault else _members(path, folder, row)
            yield RawSample(number, key, members, fault, row.get("detail", ""))


def _members(path: Path, folder: Path, row: Json) -> dict[str, bytes]:
    name = row["file"]
    members = {name.rpartition(".")[2].lower(): _image(path, folder / name, row["sha256"])}
    if "txt" in row:
        members["txt"] = row["txt"].encode("utf-8", "surrogateescape")  # the file's own bytes
    if "cls" in row:
        members["cls"] = str(row["cls"]).encode()
    fields = row.get("json", {})
    if isinstance(fields, str):
        return {**members, "json": fields.encode("utf-8", "surrogateescape")}
    known = {**fields, "path": shown(os.fsencode(name))}
    return {**members, "json": json.dumps(known, sort_keys=True).encode()}


def _image(path: Path, image: Path, digest: str) -> bytes:
    try:
        data = image.read_bytes()
    except OSError as error:
        found = f"it cannot be read ({error.strerror})"
    else:
        found = f"its SHA-256 is {hashlib.sha256(data).hexdigest()[:12]}"
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    raise InputError(
        f"{image}: {path} lists it with SHA-256 {digest[:12]}, but {found}. Put the image back, or "
        "list the folder again, by the same command as before."
    )
