"""Recognises which importer reads the data in a folder."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from clipaudit.corpora.shards import IMAGE_EXTENSIONS, TABLE
from clipaudit.errors import InputError
from clipaudit.plaintext import many, plain

ARRAYS = ("img_emb", "images")  # folders of clip-retrieval, and of LAION-400M's embeddings
TAR_ENDINGS = (".tar", ".tar.gz", ".tgz")


def recognise(folder: Path) -> str | None:
    """Return the name of the importer of a folder's data, or None if no importer reads it.

    File names decide; no file is opened. Raise InputError for a folder that cannot be listed.
    """
    try:
        names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be listed ({error.strerror}). Check its rights."
        ) from error
    stems = {name.removesuffix(".npz") for name in names if name.endswith(".npz")}
    if "metadata" in names and any(any((folder / each).glob("img_emb_*.npy")) for each in ARRAYS):
        return "clip-retrieval"
    if (folder / "test/nshards.txt").is_file():  # class names may also lie beside images
        return "clip-benchmark"
    if {"shards", "metadata"} <= names or any(f"{stem}.parquet" in names for stem in stems):
        return "datacomp"
    tars = any(name.endswith(TAR_ENDINGS) for name in names)
    if tars and any(re.fullmatch(r"\d+_stats\.json", name, re.ASCII) for name in names):
        return "img2dataset"  # which can also write folders of images
    pictures = tuple(f".{extension}" for extension in IMAGE_EXTENSIONS)
    images = tables = 0
    for _, files in visible_files(folder, []):
        if any(name.endswith(TAR_ENDINGS) for name in files):
            return "tars"
        images += sum(name.lower().endswith(pictures) for name in files)
        tables += sum(name.endswith(TABLE) for name in files)
    if tables > images:  # a few images may illustrate a data set
        return "parquet"
    return "folder" if images else None


def visible_files(
    folder: Path, linked: list[str], onerror: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the folders below a folder, with the names of their files, as os.walk does.

    Hidden ones, such as a Mac's `._0.tar`, are left out. Folders that are links are not followed,
    but added to `linked`.
    """
    for place, folders, files in os.walk(folder, onerror=onerror):
        folders[:] = [each for each in folders if not each.startswith(".")]
        linked += filter(os.path.islink, (os.path.join(place, each) for each in folders))
        yield place, [each for each in files if not each.startswith(".")]


def others_notes(others: Mapping[str, int]) -> list[str]:
    """Return a note on other files, counted by ending, if there are any."""
    counted = ", ".join(f"{count:,} {ending}" for ending, count in sorted(others.items()))
    return [f"other files were left out: {plain(counted)[:500]}"] if others else []


def linked_notes(linked: Sequence[str]) -> list[str]:
    """Return a note on the folders that are links, if there are any."""
    if not linked:
        return []
    return [
        f"{many(len(linked), 'linked folder')} not followed, first {plain(min(linked))}; name the "
        "folders themselves"
    ]
