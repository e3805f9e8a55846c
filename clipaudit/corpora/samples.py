"""Indexes a corpus: one row per usable sample, and the reason for each other row of a tar."""

import hashlib
import logging
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from clipaudit.corpora.captions import Captioning, json_object
from clipaudit.corpora.drops import Drops, table_of_rows
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import (
    BAD_CAPTION,
    BAD_LABEL,
    NO_CAPTION,
    NO_IMAGE,
    NO_LABEL,
    TEXT_TOO_LONG,
    UNKNOWN_CLASS,
    UNREAD_FORMAT,
    Unusable,
)
from clipaudit.corpora.shards import IMAGE_EXTENSIONS, RawSample, first_image, raw_samples

SAMPLES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),  # position in the corpus's list of shards
        pa.field("row", pa.int32(), nullable=False),  # in the tar, before any drop
        pa.field("key", pa.string(), nullable=False),
        pa.field("uid", pa.string(), nullable=False),  # 32 hex digits
        pa.field("caption", pa.string()),  # null: the corpus needs none and this sample has none
        pa.field("label", pa.int32()),  # null: the corpus needs none, and none was readable
        pa.field("image_sha256", pa.string(), nullable=False),
        pa.field("image_format", pa.string(), nullable=False),  # "jpeg", "png", "webp", ...
        pa.field("width", pa.int32(), nullable=False),
        pa.field("height", pa.int32(), nullable=False),
        pa.field("image_bytes", pa.int64(), nullable=False),
        pa.field("metadata", pa.string()),  # the sample's unchanged JSON text; null: it has none
    ]
)
MAX_TEXT_BYTES = 1 << 20  # of .txt, .cls or .json; img2dataset's JSON with EXIF is some 10 kB
# Endings of images that open_clip_train passes over, and so does clipaudit
_UNREAD_EXTENSIONS = ("gif", "bmp", "tif", "tiff", "avif", "heic", "heif", "jp2", "jxl", "svg")
_UID = re.compile(r"[0-9a-fA-F]{32}")

_log = logging.getLogger(__name__)


def index_shards(
    shards: Sequence[tuple[int, Path]],
    captioning: Captioning,
    *,
    needs_caption: bool,
    needs_label: bool,
) -> tuple[pa.Table, pa.Table]:
    """Return the SAMPLES and the DROPS of some shards, given with their numbers, in that order.

    Every row of each tar is in exactly one of the two. Every image is decoded, so that no later
    stage meets a corrupt one. Without `needs_caption` or `needs_label`, a sample that lacks one is
    kept; what is not needed and cannot be read is null: a label, a caption, or, if neither is
    needed, the JSON. Raises InputError for a shard that cannot be read at all.
    """
    tables = [SAMPLES.empty_table()]  # a sample takes less memory in a table than as objects
    drops = Drops("index")
    for number, path in shards:
        start, dropped = time.monotonic(), len(drops)
        rows: list[tuple[object, ...]] = []
        for sample in raw_samples(path):
            try:
                columns = _columns(sample, captioning, needs_caption, needs_label)
            except Unusable as unusable:
                drops.add(number, sample.row, sample.key, unusable.reason, unusable.detail)
            else:
                rows.append((number, sample.row, sample.key, *columns))
        took = time.monotonic() - start
        tables.append(table_of_rows(rows, SAMPLES))
        kept, dropped = len(rows), len(drops) - dropped
        rate = (kept + dropped) / max(took, 1e-9)
        _log.info("%s: %d samples, %d dropped, %.0f rows/s", path.name, kept, dropped, rate)
    return pa.concat_tables(tables), drops.table()


def sample_uid(image: bytes, caption: str | None) -> str:
    """Return the 128-bit identity of an image with its caption, as 32 hex digits.

    It is the first half of SHA-256 over both byte strings, each preceded by its length as 8 bytes,
    little-endian. A missing caption counts as an empty one, which no sample has.

    >>> sample_uid(b"image", "caption")
    '33cb3294ac4819c16b524ccb59d53828'
    """
    digest = hashlib.sha256()
    for part in (image, (caption or "").encode("utf-8")):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:32]


def stated_uid(stated: object) -> str | None:
    """Return a uid that is stated as 32 hex digits, in lower case; None for anything else."""
    return stated.lower() if isinstance(stated, str) and _UID.fullmatch(stated) else None


def caption_and_label(
    members: Mapping[str, bytes], captioning: Captioning, needs_caption: bool, needs_label: bool
) -> tuple[str | None, int | None]:
    """Return a sample's caption and label; raise Unusable if a needed one is missing.

    A caption that is not needed and cannot be read counts as missing.
    """
    label = _label(members, captioning, needs_label)
    try:
        caption = captioning.caption(members)
    except Unusable as unusable:
        if needs_caption or unusable.reason != BAD_CAPTION:
            raise
        caption = None
    if caption is None and needs_caption:
        raise Unusable(NO_LABEL if captioning.source == "class" else NO_CAPTION)
    return caption, label


def refuse_long_texts(members: Mapping[str, bytes]) -> None:
    """Raise Unusable for a text of more than MAX_TEXT_BYTES."""
    for extension in ("txt", "json", "cls"):
        length = len(members.get(extension, b""))
        if length > MAX_TEXT_BYTES:
            detail = f".{extension} of {length} bytes, the limit is {MAX_TEXT_BYTES}"
            raise Unusable(TEXT_TOO_LONG, detail)


def _columns(
    sample: RawSample, captioning: Captioning, needs_caption: bool, needs_label: bool
) -> tuple[object, ...]:
    """Return the columns of SAMPLES after the key; raises Unusable."""
    if sample.fault is not None:
        raise Unusable(sample.fault, sample.detail)
    members = sample.members
    image = first_image(members)
    if image is None:
        raise _without_image(members)
    refuse_long_texts(members)
    if not (needs_caption or needs_label):
        members = _with_readable_json(members)
    fields = json_object(members)
    caption, label = caption_and_label(members, captioning, needs_caption, needs_label)
    picture = open_picture(image)
    return (
        stated_uid(fields.get("uid")) or sample_uid(image, caption),
        caption,
        label,
        hashlib.sha256(image).hexdigest(),
        picture.format,
        picture.width,
        picture.height,
        len(image),
        members["json"].decode("utf-8-sig") if "json" in members else None,
    )


def _without_image(members: Mapping[str, bytes]) -> Unusable:
    held = ", ".join(sorted(members)) or "nothing"
    unread = any(name.rpartition(".")[2] in _UNREAD_EXTENSIONS for name in members)
    reason = UNREAD_FORMAT if unread else NO_IMAGE
    dotted = any(name.rpartition(".")[2] in IMAGE_EXTENSIONS for name in members)
    hint = " (a key ends at the first dot of its file's name)" if dotted else ""
    return Unusable(reason, f"expected one of {', '.join(IMAGE_EXTENSIONS)}, found {held}{hint}")


def _with_readable_json(members: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Return a sample's members, without its JSON if that cannot be read."""
    try:
        json_object(members)
    except Unusable:
        return {name: data for name, data in members.items() if name != "json"}
    return members


def _label(members: Mapping[str, bytes], captioning: Captioning, needed: bool) -> int | None:
    try:
        label = captioning.label(members)
    except Unusable as unusable:
        if needed or unusable.reason not in (BAD_LABEL, UNKNOWN_CLASS):
            raise
        return None  # `label` in the JSON of a text corpus may mean anything
    if label is None and needed:
        raise Unusable(NO_LABEL)
    return label
