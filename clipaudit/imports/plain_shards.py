"""Imports webdataset tars, or Parquet files with images, as a corpus, from their first samples."""

import glob
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clipaudit.corpora.captions import Captioning, Source, json_object
from clipaudit.corpora.classes import read_classes
from clipaudit.corpora.parts import expand_shards
from clipaudit.corpora.reasons import BAD_LABEL, NO_LABEL, UNKNOWN_CLASS, Unusable
from clipaudit.corpora.shards import IMAGE_EXTENSIONS, TABLE, RawSample, first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.imports.blocks import Imported, file_patterns, part_size
from clipaudit.imports.recognition import TAR_ENDINGS, linked_notes, others_notes, visible_files
from clipaudit.imports.text_fields import TXT, TextFields
from clipaudit.plaintext import many, plain
from clipaudit.remote.urls import is_url
from clipaudit.suggestions import similar_path

# Endings of files beside shards: statistics, sizes, class names and embeddings, or none
_DESCRIBING = (TABLE, ".json", ".txt", ".npz", "")
TRIED_SAMPLES = 100  # of each shard; the workflow's index reads all


@dataclass
class _Seen:
    """How many of the tried samples have each member, image, caption and label."""

    texts: TextFields
    samples: int = 0  # of all shards, tried or not
    tried: int = 0
    members: Counter[str] = field(default_factory=Counter)
    has: Counter[str] = field(default_factory=Counter)
    fault: str = ""  # the first sample that cannot be used
    bad_label: str = ""  # the first whose label is missing or wrong


def import_shards(
    places: Sequence[str],
    name: str,
    *,
    endings: Sequence[str] = TAR_ENDINGS,
    caption: str | None = None,
    classes: Path | None = None,
    label_set: str | None = None,
) -> Imported:
    """Return the block of corpus `name` for shards, and with `classes` that of its label set.

    `places` are files, patterns with `*` or `{0..9}`, and folders, below which files with one of
    the `endings` count. Captions come from `.txt`, or from a field of the JSON (in Parquet, a
    column): `caption` if given, else one with a usual name; several come from a list `captions`.
    Labels come from `.cls`, or `cls` or `label` in the JSON, if a file of `classes` names them.
    Raise InputError if there are no shards, if none has an image or the named `caption`, and for
    labels that are not among the classes.
    """
    notes: list[str] = []
    tars = find_shards(places, endings, notes.append)
    reader = Captioning("class", classes=read_classes(classes)) if classes else Captioning()
    seen = _Seen(TextFields(caption))
    for tar in tars:
        _look(tar, seen, reader)
    if caption and not seen.texts.captioned:
        raise InputError(
            f"{tars[0]} and on: no text in {plain(caption)!r} in {seen.tried:,} samples tried; "
            f"texts are in: {_shown(seen.texts.found)}. Name one of these by --caption."
        )
    if not seen.has["an image"]:
        raise InputError(
            f"{tars[0]} and on: {len(tars):,} shards, {seen.tried:,} samples tried, none with an "
            f"image (.{', .'.join(IMAGE_EXTENSIONS)}); found: {_shown([*seen.members])}. Name "
            "shards of images."
        )
    if classes and seen.bad_label:
        raise InputError(
            f"{seen.bad_label}, but each sample needs the number of a class of {classes}. "
            "Correct the file of classes, or omit --classes."
        )
    captions = seen.texts.settings
    if classes and not seen.texts.captioned:
        captions = {"captions": "class"}
    size, parts = part_size(len(tars), seen.samples)
    corpus: dict[str, Any] = {
        "shards": file_patterns([str(tar) for tar in tars]),
        "shards_per_part": size,
        **captions,
    }
    blocks: dict[str, dict[str, Any]] = {"corpora": {name: corpus}}
    if classes:
        corpus["labels"] = labels = label_set or name
        blocks = {"label_sets": {labels: {"classes": str(classes)}}, **blocks}
    return Imported(blocks, [*_notes(len(tars), seen, classes), *notes, parts])


def find_shards(
    places: Sequence[str],
    endings: Sequence[str] = (*TAR_ENDINGS, TABLE),
    say: Callable[[str], object] = lambda _: None,
) -> list[Path]:
    """Return the shards that folders, files and patterns name, each place's in numeric order.

    Of folders, other files, hidden files and folders that are links are left out. `say` receives a
    note on the links, and on the other files except those that describe shards.
    """
    found, linked, notes = dict[Path, None](), list[str](), list[str]()
    for place in places:
        if is_url(place):
            raise InputError(
                f"{place}: a URL; imports read local files. Write it under `shards` of a corpus."
            )
        if os.path.isdir(place):  # Path.is_dir fails for a pattern beyond 255 bytes
            walk = visible_files(Path(place), linked)
            paths = (Path(folder, name) for folder, names in walk for name in names)
            within = [path for path in paths if path.is_file()]
            # Parquet beside tars describes the tars
            kinds = [ending for ending in endings if ending in TAR_ENDINGS], endings
            here = next(filter(None, (_ending(within, tuple(kind)) for kind in kinds)), [])
            others = Counter(path.suffix for path in within if path.suffix not in _DESCRIBING)
            others.subtract(path.suffix for path in here if path.suffix in others)
            notes += (f"{plain(place)}: {note}" for note in others_notes(+others) if here)
        elif os.path.exists(place):
            here = [Path(place)]
        elif "{" in place:
            named = list(map(Path, expand_shards(place)))
            here = [path for path in named if path.exists()]
            if here and len(here) < len(named):
                gone = next(path for path in named if path not in here)
                raise InputError(
                    f"{place}: {len(named) - len(here):,} of {len(named):,} shards are missing, "
                    f"first {gone}. Fetch them, or name only the others."
                )
        else:
            here = [Path(path) for path in glob.glob(place, recursive=True)]
        if not here:
            _refuse_missing(place)
            raise InputError(
                f"{'; '.join([f'{place}: no shards', *linked_notes(linked)])}. Name a folder with "
                f"files that end in {', '.join(endings)}, or such files. `clipaudit audit` and "
                "`clipaudit import folder` also take a folder of images."
            )
        found |= dict.fromkeys(sorted(here, key=_by_number))
    for note in [*linked_notes(linked), *notes]:
        say(note)
    return list(found)


def _refuse_missing(place: str) -> None:
    """Raise InputError for the path of a missing file or folder; a pattern names several."""
    if os.path.exists(place) or "{" in place or glob.has_magic(place):
        return
    near = similar_path(Path(place))
    step = f"Did you mean {plain(near)}?" if near else "Correct the path."
    raise InputError(f"{place} does not exist. {step}")


def _ending(paths: Sequence[Path], endings: tuple[str, ...]) -> list[Path]:
    return [path for path in paths if path.name.endswith(endings)]


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Return a sort key that puts 9.tar before 10.tar."""
    pieces = re.split(r"(\d+)", str(path), flags=re.ASCII)
    return [(int(piece), piece) if piece.isdecimal() else (-1, piece) for piece in pieces]


def _look(tar: Path, seen: _Seen, reader: Captioning) -> None:
    """Count the samples of a tar, and the members of the first ones; others are not read."""
    rows = 0

    def tried(row: int) -> bool:
        nonlocal rows
        rows = row + 1
        return row < TRIED_SAMPLES

    for raw in raw_samples(tar, tried):
        seen.tried += 1
        seen.members.update(raw.members.keys())  # a mapping would be read as counts
        try:
            _count(raw, seen, reader)
        except Unusable as unusable:
            seen.has["fault"] += 1
            sentence = f"{tar}: row {raw.row}, {raw.key}: {unusable}"
            seen.fault = seen.fault or sentence
            if unusable.reason in (BAD_LABEL, NO_LABEL, UNKNOWN_CLASS):
                seen.bad_label = seen.bad_label or sentence
    seen.samples += rows


def _count(raw: RawSample, seen: _Seen, reader: Captioning) -> None:
    if raw.fault is not None:
        raise Unusable(raw.fault, raw.detail)
    fields = json_object(raw.members)
    seen.has["an image"] += first_image(raw.members) is not None
    source: Source = "texts" if isinstance(fields.get("caption"), list) else "text"
    Captioning(source).caption(raw.members)  # raises if it is not text
    text = raw.members.get("txt")
    seen.texts.add(None if text is None else text.decode("utf-8", "replace"), fields)
    label = reader.label(raw.members)
    seen.has["a label"] += label is not None
    if label is None and reader.classes:
        raise Unusable(NO_LABEL)


def _notes(tars: int, seen: _Seen, classes: Path | None) -> list[str]:
    seen.has["several captions" if seen.texts.several else "a caption"] = seen.texts.captioned
    counts = ", ".join(
        f"{seen.has[what]:,} have {what}"
        for what in ("an image", "a caption", "several captions", "a label")
        if seen.has[what] or what == "an image"
    )
    read = f"{many(tars, 'shard')}, {many(seen.samples, 'sample')}"
    notes = [f"{read}; of {seen.tried:,} tried, {counts}"]
    if seen.fault:
        notes.append(f"{seen.has['fault']:,} of these cannot be used, first {plain(seen.fault)}")
    if seen.texts.caption not in (None, TXT, "caption", "captions"):
        notes.append(f"captions are read from {seen.texts.caption!r}; --caption names another")
    elif seen.texts.found and not seen.texts.captioned:
        notes.append(
            f"texts in the JSON: {_shown(seen.texts.found)}; --caption FIELD takes one as caption"
        )
    if seen.has["a label"] and not classes:
        notes.append(
            "labels are not used: --classes FILE names them, one class per line in their order"
        )
    return notes


def _shown(names: Sequence[str]) -> str:
    return ", ".join(plain(name[:50]) for name in names[:10]) or "nothing"
