"""A folder of pictures as a corpus: written as tars that depend on its content alone.

clipaudit reads pictures from tars only, so this importer is the one that copies. The samples are
the pictures in the order of their paths, numbered. Beside each picture its `.txt` is the caption;
its JSON says the path within the folder, with what a `.json` beside the picture says; and with
classes, its label is the place of its uppermost folder among all of them, in the order of names.
"""

import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clipaudit.corpora.captions import json_object
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import IMAGE_EXTENSIONS
from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported, file_patterns, part_size
from clipaudit.store.outputs import whole_output

CLASSES = "classes.txt"
MARK = "imported.json"  # by it a folder of ours is told from others
PICTURES_PER_SHARD = 1000  # several tars even of a small folder: training wants one for each worker


def find_pictures(folder: Path) -> list[Path]:
    """Return the pictures below a folder, in the order of their paths within it.

    What has another ending, and hidden files and folders, are left out; without any, InputError.
    """
    endings = {f".{extension}" for extension in IMAGE_EXTENSIONS}
    found = {
        path.relative_to(folder).parts: path
        for path in folder.rglob("*")
        if path.suffix.lower() in endings and path.is_file()
    }
    visible = sorted(parts for parts in found if not any(part.startswith(".") for part in parts))
    if not visible:
        raise InputError(
            f"{folder}: no pictures below it that end in {', '.join(sorted(endings))}. "
            "Name the folder that holds them."
        )
    return [found[parts] for parts in visible]


def import_folder(
    folder: Path,
    name: str,
    shards: Path,
    *,
    classes: bool = False,
    label_set: str | None = None,
    per_shard: int = PICTURES_PER_SHARD,
    force: bool = False,
) -> Imported:
    """Write the pictures of a folder as tars into `shards` and return the block of corpus `name`.

    The folder `shards` appears whole or not at all; with `force` it takes the place of an earlier
    one of ours. Raise InputError for a folder without pictures, for files that cannot be read, and
    with `classes` for a picture in no folder.
    """
    pictures = find_pictures(folder)
    names = _class_names(folder, pictures) if classes else []
    cut = [pictures[at : at + per_shard] for at in range(0, len(pictures), per_shard)]
    with whole_output(shards, force=force, mark=MARK) as new:
        new.mkdir()
        for number, some in enumerate(cut):
            _write_tar(new / f"{number:05d}.tar", folder, some, names, number * per_shard)
        if names:
            (new / CLASSES).write_text("".join(f"{each}\n" for each in names), encoding="utf-8")
        (new / MARK).write_text(json.dumps({"pictures": len(pictures)}) + "\n")
    captioned = sum(path.with_suffix(".txt").is_file() for path in pictures)
    source = "text" if captioned else "class" if names else "none"
    patterns = file_patterns([str(shards / f"{number:05d}.tar") for number in range(len(cut))])
    size, parts = part_size(len(cut), len(pictures))
    corpus: dict[str, Any] = {"shards": patterns, "shards_per_part": size, "captions": source}
    blocks: dict[str, dict[str, Any]] = {"corpora": {name: corpus}}
    if names:
        corpus["labels"] = labels = label_set or name
        blocks = {"label_sets": {labels: {"classes": str(shards / CLASSES)}}, **blocks}
    counts = f"{len(pictures):,} pictures in {len(cut):,} tars, {captioned:,} with a caption"
    return Imported(blocks, [counts + (f", {len(names):,} classes" if names else ""), parts])


def _class_names(folder: Path, pictures: Sequence[Path]) -> list[str]:
    loose = [path for path in pictures if path.parent == folder]
    if loose:
        raise InputError(
            f"{folder}: {len(loose)} of {len(pictures)} pictures lie in no folder of a class, "
            f"first {loose[0].name!r}. Move them, or leave --classes out."
        )
    names = sorted({path.relative_to(folder).parts[0] for path in pictures})
    odd = next((each for each in names if each != each.strip() or not each.isprintable()), None)
    if odd is not None:
        raise InputError(f"{folder}: {odd!r} cannot be a class name on a line. Rename the folder.")
    return names


def _write_tar(
    path: Path, folder: Path, pictures: Sequence[Path], classes: Sequence[str], first: int
) -> None:
    """Write plain ustar headers: no time, no owner, numbers for names."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for number, picture in enumerate(pictures, first):
            for extension, content in _members(folder, picture, classes):
                member = tarfile.TarInfo(f"{number:09d}.{extension}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))


def _members(folder: Path, picture: Path, classes: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    yield picture.suffix[1:].lower(), _content(picture)
    within = picture.relative_to(folder)
    text, fields = picture.with_suffix(".txt"), picture.with_suffix(".json")
    if text.is_file():
        yield "txt", _content(text)
    if classes:
        yield "cls", str(classes.index(within.parts[0])).encode()
    try:
        stated = json_object({"json": _content(fields)}) if fields.is_file() else {}
    except Unusable as unusable:
        raise InputError(f"{fields}: {unusable}. Correct it, or take it away.") from None
    yield "json", json.dumps({**stated, "path": within.as_posix()}, sort_keys=True).encode()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check its rights.") from error
