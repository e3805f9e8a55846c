"""Write the report's files other than its pages, and put its folder in place."""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from clipaudit.catalog.samples.catalog import Address
from clipaudit.corpora.images import open_picture
from clipaudit.plaindata import Json
from clipaudit.site.samples import SamplePage, ShownPicture
from clipaudit.store.store import Pointer, Store

READS = ("static/icon.svg", "static/map.js", "static/report.css", "static/report.js")

TABLE_FILES = ("csv", "md", "tex")
FIGURE_FILES = ("csv", "svg", "png", "md")
DATA_FILES = ("csv",)  # of a gallery whose images must not be shown


def write_static(folder: Path) -> None:
    """Write the style sheet, the script and the icon below the report's folder."""
    package = files("clipaudit.site")
    for name in READS:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(package.joinpath(name).read_bytes())


def write_lineage(folder: Path, graph: Json) -> None:
    """Write the graph of actions as a script that sets one constant."""
    text = json.dumps(graph, separators=(",", ":"), sort_keys=True, allow_nan=False)
    target = folder / "data" / "lineage.js"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"const LINEAGE = {text};\n", "utf-8")


def write_search(folder: Path, script: str) -> None:
    """Write the index for the sample search: a script that sets one constant."""
    (folder / "data" / "samples.js").write_text(script, "utf-8")


def copy_files(folder: Path, store: Store, pointer: Path, extensions: Iterable[str]) -> list[str]:
    """Copy the files of a table or a figure; returns their paths, relative to the report."""
    target = folder / "files"
    target.mkdir(parents=True, exist_ok=True)
    copied = []
    for extension in extensions:
        form = Pointer.read(pointer.with_suffix(f".{extension}.json"))
        name = f"{pointer.stem}.{extension}"
        shutil.copyfile(store.checked_path(form), target / name)
        copied.append(f"files/{name}")
    return copied


def write_pictures(
    folder: Path, pages: Sequence[SamplePage], found: Mapping[Address, bytes | str]
) -> list[SamplePage]:
    """Write the images of samples beside their pages; returns the pages that show them."""
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    written = {
        each: _written(folder, f"samples/{each.corpus}-{each.shard}-{each.row}.jpg", picture)
        for each, picture in found.items()
    }
    return [
        replace(
            page,
            picture=written[page.address],
            beside=tuple(replace(one, picture=written[one.address]) for one in page.beside),
        )
        for page in pages
    ]


def write_looked_at(
    folder: Path, found: Mapping[Address, bytes | str]
) -> dict[Address, ShownPicture]:
    """Write the images to be checked by hand."""
    (folder / "look").mkdir(parents=True, exist_ok=True)
    return {
        each: _written(folder, f"look/{each.corpus}-{each.shard}-{each.row}.jpg", picture)
        for each, picture in found.items()
    }


def _written(folder: Path, path: str, picture: bytes | str) -> ShownPicture:
    if isinstance(picture, str):
        return ShownPicture(why_none=picture)
    (folder / path).write_bytes(picture)
    opened = open_picture(picture)
    return ShownPicture(path, opened.width, opened.height)


def put_in_place(written: Path, target: Path) -> None:
    """Move a complete folder to `target`, replacing any folder there."""
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    if target.exists():
        os.replace(target, old)
    os.replace(written, target)
    shutil.rmtree(old, ignore_errors=True)
