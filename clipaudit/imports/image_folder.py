"""Imports a folder of images as a corpus: lists of its files, which are read in place.

A caption is the `.txt` beside the image. Fields come from a `.json` beside it, and from its row in
a table of its folder (`folder_tables`). With classes, the label is the number of the uppermost
folder among all of them, in the order of names.

A folder that is listed again keeps its lists: images keep their rows, missing ones are removed, new
ones come last. Files that have not been written to since are not read again.
"""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import Any

from clipaudit.corpora.captions import json_object
from clipaudit.corpora.image_lists import list_text, read_list
from clipaudit.corpora.reasons import NOT_A_FILE, OUTSIDE, TOO_LARGE, UNREADABLE, Unusable
from clipaudit.corpora.samples import MAX_TEXT_BYTES
from clipaudit.corpora.shards import LIST, MAX_SAMPLE_BYTES
from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported, file_patterns, part_size
from clipaudit.imports.folder_tables import (
    IMAGE_ENDINGS,
    TABLES,
    Tables,
    lies_within,
    link_home,
    read_table,
    read_tables,
)
from clipaudit.imports.recognition import linked_notes, others_notes, visible_files
from clipaudit.imports.text_fields import TextFields
from clipaudit.plaindata import Json
from clipaudit.plaintext import many, plain
from clipaudit.store.store import replace_text

CLASSES = "classes.txt"
SEEN = "seen.json"  # the state of the files when they were read
_SETTLED_NS = 2_000_000_000  # a file written to more recently may change without a new time
IMAGES_PER_LIST = 1000  # several lists even for a small folder: training needs one for each worker
_TEXTS = (".txt", ".json")  # of the files beside an image


@dataclass(frozen=True)
class Listed:
    """The lists of a folder, and their content."""

    lists: list[Path]
    images: int
    classes: list[str]
    faulty: Mapping[str, int]  # images that cannot be used, by reason
    others: Mapping[str, int]  # other files, by ending
    linked: list[str]  # folders that are links, which are not followed
    unmatched: list[str]  # images that a table names and that are not there
    bad_json: list[str]  # images with a `.json` that holds no object
    texts: TextFields


def import_folder(
    folder: Path,
    name: str,
    lists: Path,
    *,
    classes: bool = False,
    label_set: str | None = None,
    per_list: int = IMAGES_PER_LIST,
) -> Imported:
    """Write lists of the images of a folder into `lists` and return the block of corpus `name`.

    Raise InputError for a folder without images, for texts that cannot be read, and with `classes`
    for an image in no folder.
    """
    listed = list_folder(folder, lists, classes=classes, per_list=per_list)
    size, parts = part_size(len(listed.lists), listed.images)
    corpus: dict[str, Any] = {
        "shards": file_patterns([str(path) for path in listed.lists]),
        "shards_per_part": size,
        **listed.texts.settings,
    }
    if classes and not listed.texts.captioned:
        corpus["captions"] = "class"
    blocks: dict[str, dict[str, Any]] = {"corpora": {name: corpus}}
    if classes:
        corpus["labels"] = labels = label_set or name
        blocks = {"label_sets": {labels: {"classes": str(lists / CLASSES)}}, **blocks}
    return Imported(blocks, [*listed_notes(listed), parts])


def listed_notes(listed: Listed) -> list[str]:
    """Return notes on a folder."""
    counts = f"{many(listed.images, 'image')} in {many(len(listed.lists), 'list')}"
    counts += f", {listed.texts.captioned:,} with a caption"
    notes = [counts + (f", {len(listed.classes):,} classes" if listed.classes else "")]
    for fault, found in sorted(listed.faulty.items()):
        notes.append(f"{found:,} of them cannot be used ({fault}); they are listed in `drops`")
    if listed.bad_json:
        notes.append(
            f"{many(len(listed.bad_json), 'image')} with a .json that holds no object, first "
            f"{plain(listed.bad_json[0])}: dropped where captions or labels are needed"
        )
    notes += others_notes(listed.others)
    if tables := sorted(listed.others.keys() & {".csv", ".tsv", ".jsonl", ".parquet"}):
        notes.append(
            f"a table with the images' captions is read if it is named captions{tables[0]}"
        )
    if listed.unmatched:
        rows = many(len(listed.unmatched), "row")
        notes.append(f"{rows} of tables without an image, first {plain(listed.unmatched[0])}")
    return [*notes, *linked_notes(listed.linked)]


def list_folder(
    folder: Path, lists: Path, *, classes: bool = False, per_list: int = IMAGES_PER_LIST
) -> Listed:
    """Write lists of the images below a folder into `lists`; see the module."""
    folder = folder.absolute()
    images, others, linked = find_images(folder)
    tables = read_tables(folder, images)
    others.update(os.path.splitext(name)[1] for name in tables.others)
    names = _class_names(folder, images) if classes else []
    listed = _list(folder, images, tables, lists, names, per_list)
    return replace(listed, others=others, linked=linked)


def list_table(table: Path, lists: Path) -> Listed:
    """Write lists of the images that a table names, below the folder `lists`.

    Another folder of images gives other lists.
    """
    folder, tables = read_table(table)
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return _list(folder, sorted(tables.fields), tables, lists / digest, [], IMAGES_PER_LIST)


def _list(
    folder: Path,
    images: Sequence[str],
    tables: Tables,
    lists: Path,
    names: list[str],
    per_list: int,
) -> Listed:
    cut = _cut(images, _earlier(folder, lists), per_list)
    rows = _Rows(folder, lists, names, tables)
    written = []
    for number, some in enumerate(cut):
        path = lists / f"{number:05d}{LIST}"
        _replace(path, list_text(folder, rows.of(some)))
        written.append(path)
    for path in set(lists.glob(f"*{LIST}")).difference(written):
        path.unlink()
    if names:
        _replace(lists / CLASSES, "".join(f"{each}\n" for each in names))
    rows.keep()
    unmatched = list(tables.unmatched)
    return Listed(
        written, len(images), names, rows.faulty, {}, [], unmatched, rows.bad_json, rows.texts
    )


def find_images(folder: Path) -> tuple[list[str], Counter[str], list[str]]:
    """Return the images below a folder, sorted, as paths within it.

    Also return other files by ending, without tables, and the folders that are links, which are not
    followed. Hidden files and folders are left out. Raise InputError if there are no images.
    """
    found, others, linked = list[str](), Counter[str](), list[str]()
    for place, files in visible_files(folder, linked, _refuse):
        within = os.path.relpath(place, folder)
        images = {name for name in files if name.lower().endswith(IMAGE_ENDINGS)}
        found += (os.path.normpath(os.path.join(within, name)) for name in images)
        beside = {os.path.splitext(name)[0] + text for name in images for text in _TEXTS}
        for name in set(files).difference(images, beside):
            ending = os.path.splitext(name)[1].lower()
            if ending and not TABLES.fullmatch(name):
                others[ending] += 1
    if not found:
        raise InputError(
            f"{folder}: no images below it that end in {', '.join(sorted(IMAGE_ENDINGS))}. "
            "Name the folder that holds them."
        )
    return sorted(found), others, linked


def _refuse(error: OSError) -> None:
    raise InputError(
        f"{error.filename}: cannot be listed ({error.strerror}). Check its rights."
    ) from error


def _class_names(folder: Path, images: Sequence[str]) -> list[str]:
    loose = [name for name in images if os.sep not in name]
    if loose:
        raise InputError(
            f"{folder}: {len(loose)} of {len(images)} images are not in the folder of a class, "
            f"first {loose[0]!r}. Move them, or omit --classes."
        )
    names = sorted({name.split(os.sep)[0] for name in images})
    odd = next((each for each in names if each != each.strip() or not each.isprintable()), None)
    if odd is not None:
        raise InputError(f"{folder}: {odd!r} cannot be a class name on a line. Rename the folder.")
    return names


def _earlier(folder: Path, lists: Path) -> list[list[str]]:
    """Return the images that each earlier list names; raise InputError for another folder's."""
    earlier = []
    for path in sorted(lists.glob(f"*{LIST}")):
        listed, rows = read_list(path)
        if listed != folder:
            raise InputError(
                f"{lists}: contains lists of {listed}, not of {folder}. Name another folder by "
                "--lists, or remove these."
            )
        earlier.append([row["file"] for row in rows])
    return earlier


def _cut(images: Sequence[str], earlier: list[list[str]], per_list: int) -> list[list[str]]:
    """Return the images of each list: the remaining earlier ones, then the new ones.

    New ones come in a pseudorandom order, with classes mixed, as training needs.
    """
    there = set(images)
    cut = [left for names in earlier if (left := [name for name in names if name in there])]
    known = {name for names in cut for name in names}
    for name in sorted(images, key=lambda each: hashlib.sha256(os.fsencode(each)).digest()):
        if name not in known:
            if not cut or len(cut[-1]) >= per_list:
                cut.append([])
            cut[-1].append(name)
    return cut


def _replace(path: Path, text: str) -> None:
    """Write a file if its content differs: its time decides whether it is read again."""
    try:
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}). Check this user's rights there, and "
            "the free space of the disk."
        ) from error


class _Rows:
    """The rows of a folder's images, and the memory of files that were read."""

    def __init__(self, folder: Path, lists: Path, classes: Sequence[str], tables: Tables) -> None:
        """Read the memory of the last time."""
        self._folder, self._home, self._memory = folder, link_home(folder), lists / SEEN
        self._labels = {name: number for number, name in enumerate(classes)}
        self._tables = tables
        self._seen = _remembered(self._memory)
        self._now: dict[str, Any] = {}
        self._started = time.time_ns()
        self.texts = TextFields()
        self.faulty = Counter[str]()
        self.bad_json: list[str] = []

    def of(self, names: Sequence[str]) -> list[Json]:
        """Return the rows of some images."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return [self._row(*read) for read in pool.map(self._read, names)]

    def keep(self) -> None:
        """Save the memory of what was read."""
        _replace(self._memory, json.dumps(self._now, sort_keys=True))

    def _read(self, name: str) -> tuple[str, list[Any], Json]:
        """Return an image, the state of it and of the files beside it, and their content.

        Unchanged files are not read, unless they could not be used: permissions and links change
        without them.
        """
        path = self._folder / name
        beside = [path.with_suffix(ending) for ending in _TEXTS]
        state = [_state(each) for each in (path, *beside)]
        seen = self._seen.get(name)
        if seen is not None and seen[0] == state and "fault" not in seen[1]:
            return name, state, seen[1]
        return name, state, {**self._image(path), **_texts(*beside, within=self._home)}

    def _image(self, path: Path) -> Json:
        """Return the digest of an image, or why it cannot be used."""
        try:
            if not lies_within(path, self._home):
                return {"fault": OUTSIDE, "detail": f"to {os.fspath(path.resolve())}"}
            held = path.stat()
            if not S_ISREG(held.st_mode):
                return {"fault": NOT_A_FILE, "detail": ""}
            if held.st_size > MAX_SAMPLE_BYTES:
                detail = f"{held.st_size} bytes, the limit is {MAX_SAMPLE_BYTES}"
                return {"fault": TOO_LARGE, "detail": detail}
            with path.open("rb") as file:
                return {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
            return {"fault": UNREADABLE, "detail": getattr(error, "strerror", None) or str(error)}

    def _row(self, name: str, state: list[Any], read: Json) -> Json:
        if all(held is None or held[1] < self._started - _SETTLED_NS for held in state):
            self._now[name] = [state, read]
        row = {"file": name, **read}
        fields = row.pop("json", {})
        if isinstance(fields, str):
            self.bad_json.append(name)
            row["json"] = fields
        else:
            fields = {**fields, **self._tables.fields.get(name, {})}
            self.texts.add(row.get("txt"), fields)
            if fields:
                row["json"] = fields
        self.faulty.update([row["fault"]] if "fault" in row else [])
        if self._labels:
            row["cls"] = self._labels[name.split(os.sep)[0]]
        return row


def _remembered(memory: Path) -> dict[str, Any]:
    """Return the memory; if it is missing or damaged, files are read again."""
    try:
        seen = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return seen if isinstance(seen, dict) else {}


def _state(path: Path) -> list[int] | None:
    try:
        held = os.stat(path)
    except OSError:
        return None
    return [held.st_size, held.st_mtime_ns, held.st_ino]


def _texts(text: Path, fields: Path, *, within: Path) -> Json:
    """Return the caption and the fields in files beside an image, in the folder `within`."""
    found: dict[str, Any] = {}
    if text.is_file() and lies_within(text, within):
        found["txt"] = _content(text).decode("utf-8", "surrogateescape")
    if fields.is_file() and lies_within(fields, within):
        content = _content(fields)
        try:
            found["json"] = json_object({"json": content})
        except Unusable:  # the index drops it, as in a tar, if captions or labels are needed
            found["json"] = content.decode("utf-8", "surrogateescape")
    return found


def _content(path: Path) -> bytes:
    """Return a text file, cut one byte above the length at which the index drops it."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_TEXT_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check its rights.") from error
