"""Finds the drawings of the library, assigns them to sets, and makes their samples."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from clipaudit.demo.clipart.pictures import Reduced, reduced
from clipaudit.demo.clipart.svg_statements import Statements, statements_of
from clipaudit.errors import InputError

SEED = 0
TEST_SHARE = 12  # one drawing in this many is in the test set
SETS = ("web", "test")


class Drawing(NamedTuple):
    """A drawing: `name` is its path within `png/` without ending, bytes that are not UTF-8 escaped.

    `key`, 16 hex digits, is a hash of the name; the order of keys shuffles the drawings.
    """

    name: str
    key: str
    set: str  # one of SETS
    png: Path
    svg: Path | None


class Made(NamedTuple):
    """A drawing's sample: its members, extension and content, and what to count."""

    members: tuple[tuple[str, bytes], ...]
    stated: frozenset[str]  # the non-empty fields of its JSON
    refused: str  # why its image is the original one


def find_drawings(folder: Path) -> list[Drawing]:
    """Return the drawings below `folder`/png in the order of their keys, with their SVG if there.

    The set of a drawing depends only on SEED and its name: added files do not move others. Raise
    InputError if there are none, and for a link that leads out of `folder` or to no file.
    """
    pngs = (folder / "png").rglob("*.png")
    found = [_drawing(path, folder) for path in pngs if not path.is_dir()]
    if not found:
        raise InputError(f"{folder}: no drawings in png/. Remove the folder and unpack again.")
    return sorted(found, key=lambda drawing: drawing.key)


def without_picture(folder: Path) -> list[str]:
    """Return the names of the SVG files below `folder`/svg that have no PNG, sorted."""
    svgs, pngs = (
        {_name(path, folder / kind) for path in (folder / kind).rglob(f"*.{kind}")}
        for kind in ("svg", "png")
    )
    return sorted(svgs - pngs)


def made(drawing: Drawing) -> Made:
    """Return the sample of a drawing: .png on white, .txt with its title, .json with the rest.

    The JSON has the known ones of `title`, `description`, `keywords`, `artist`, `text` (of the
    SVG's text elements), `category` (its folder), `width` and `height`, and always `source` and
    `has_text`. If the SVG has no title, the words of the file's name are the caption.
    """
    picture = reduced(drawing.png.read_bytes())
    said = statements_of(drawing.svg.read_bytes()) if drawing.svg else Statements(problem="no SVG")
    fields = {name: value for name, value in _fields(drawing, picture, said).items() if value}
    caption = said.title or name_words(drawing.name)
    content = json.dumps({"has_text": bool(said.text), **fields}, sort_keys=True)
    members = (("png", picture.file), ("txt", caption.encode()), ("json", content.encode()))
    return Made(members, frozenset(fields), picture.refused)


def name_words(name: str) -> str:
    """Return the words of a file's name, without its folders and a number at its end.

    >>> name_words("animals/birds/red-owl_jean_02")
    'red owl jean'
    """
    words = re.findall(r"[^\W_]+", name.rpartition("/")[2])
    return " ".join(words[:-1] if len(words) > 1 and words[-1].isdigit() else words)


def _fields(drawing: Drawing, picture: Reduced, said: Statements) -> Mapping[str, object]:
    return {
        "title": said.title,
        "description": said.description,
        "keywords": said.keywords,
        "artist": said.artist,
        "text": said.text,
        "category": drawing.name.rpartition("/")[0],
        "source": f"png/{drawing.name}.png",
        "width": picture.width,
        "height": picture.height,
        "svg_problem": said.problem,
    }


def _drawing(png: Path, folder: Path) -> Drawing:
    svg = folder / "svg" / png.relative_to(folder / "png").with_suffix(".svg")
    there = os.path.lexists(svg)
    for path in (png, svg) if there else (png,):
        _refuse_stray(path, folder)
    name = _name(png, folder / "png")
    digest = hashlib.sha256(f"{SEED}/{name}".encode()).hexdigest()
    played = SETS[int(digest[16:32], 16) % TEST_SHARE == 0]
    return Drawing(name, digest[:16], played, png, svg if there else None)


def _name(path: Path, above: Path) -> str:
    inner = path.relative_to(above).with_suffix("").as_posix()
    return os.fsencode(inner).decode("utf-8", "backslashreplace")


def _refuse_stray(path: Path, folder: Path) -> None:
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise InputError(
            f"{path}: a link that leads out of {folder} or to no file. Use Debian's own packages."
        )
