"""Blurs the faces in a shard and keeps everything else.

Déjà vu's Appendix C (https://arxiv.org/abs/2402.02103) does this with all sets. Rows, keys,
captions and JSON are unchanged, so that an address means the same sample in both corpora, and the
index drops the same rows for the same reasons. We differ from the usual face blurring for ImageNet
(Yang et al. 2022, https://arxiv.org/abs/2103.06191: a Gaussian of 0.1 of the diagonal) in the
strength of the blur.

Only members that the index takes for images are read: .jpg, .png, .jpeg and .webp of samples
without fault. An image with faces is rewritten in RGB, as `corpora.images` reads it, without EXIF
(whose thumbnail would show the face), colour profile and further frames.
"""

import io
import logging
import tarfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from math import ceil, floor, hypot
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from PIL import Image, ImageFilter

from clipaudit.corpora.faces import Box, FaceFinder
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import DAMAGED, Unusable
from clipaudit.corpora.shards import IMAGE_EXTENSIONS, open_shard, sample_groups, shown
from clipaudit.corpora.tarmembers import BLOCK, BrokenTar, TarReader
from clipaudit.errors import InputError
from clipaudit.store.outputs import replaced

MARGIN = 0.1  # of the box's diagonal, on each side (Yang et al. 2022)
# The blur's standard deviation, as a share of the grown box's diagonal. For a square box it is a
# third of the face's side: details finer than half a face change a pixel by a few levels at most.
SIGMA = 0.2

_ENCODINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "jpeg": ("JPEG", {"quality": 95, "subsampling": "4:4:4"}),
    "webp": ("WEBP", {"lossless": True}),
    "bmp": ("BMP", {}),
}
# Also for GIF, which would reduce the image to 256 colours again.
_LOSSLESS: tuple[str, dict[str, Any]] = ("PNG", {})
_END = bytes(2 * BLOCK)
_NO_HEADER = b"\xff" * BLOCK  # written where the source is damaged, so that the index reports it

_log = logging.getLogger(__name__)


class Blurring(NamedTuple):
    """What was done to a shard."""

    pictures: int  # that could be read
    with_faces: int  # images that were rewritten
    faces: int
    whole: int = 0  # images blurred as a whole, since what states their faces cannot be read


def blur_shard(
    source: Path, target: Path, find_faces: FaceFinder, *, margin: float = MARGIN
) -> Blurring:
    """Write a shard with the faces of its images blurred; return how many there were.

    The target is written whole or not at all, as an uncompressed tar; its folder must exist. Its
    bytes depend only on the source's bytes and on the boxes. Members keep their order, and all but
    images with faces keep their bytes and headers, also in faulty samples. If the JSON that states
    an image's faces cannot be read, the whole image is blurred. A truncated or damaged source gives
    a target that ends at the same row. Raises InputError for a source that is not a tar, and with
    the sample's key for boxes that cannot be read.
    """
    start, counts = time.monotonic(), Counter[str]()
    changes = _changed_members(source, find_faces, margin, counts)
    with replaced(target) as part, open(part, "wb") as file:
        _copy_members(source, file, changes)
    done = Blurring(*(counts[name] for name in ("pictures", "with faces", "faces", "whole")))
    rate = done.pictures / max(time.monotonic() - start, 1e-9)
    what = f"{done.pictures} images, {done.with_faces} with faces, {done.faces} faces blurred"
    if done.whole:
        what += f", {done.whole} images as a whole, since their JSON cannot be read"
    _log.info("%s: %s, %.0f pictures/s", target.name, what, rate)
    return done


def blurred(rgb: Image.Image, boxes: Iterable[Box], *, margin: float = MARGIN) -> Image.Image:
    """Return a copy of an image in which boxes, grown by the margin, are blurred beyond repair.

    Each blur uses only its own box, so that nothing outside the boxes changes. Where boxes overlap,
    the later one blurs the result of the earlier one. A box grows by `margin` of its diagonal on
    each side, then to whole pixels, and is clipped to the image.
    """
    picture = rgb.copy()
    for box in boxes:
        place = grown(box, picture.size, margin)
        if place is not None:
            left, top, right, bottom = place
            sigma = SIGMA * hypot(right - left, bottom - top)
            face = picture.crop(place).filter(ImageFilter.GaussianBlur(sigma))
            picture.paste(face, (left, top))
    return picture


def grown(box: Box, size: tuple[int, int], margin: float) -> tuple[int, int, int, int] | None:
    """Return the left, top, right, bottom of a grown box within an image; None if it is outside.

    >>> grown(Box(10, 10, 30, 40), (100, 52), 0.1)
    (5, 5, 45, 52)
    """
    more = margin * hypot(box.width, box.height)
    left, top = max(0, floor(box.left - more)), max(0, floor(box.top - more))
    right = min(size[0], ceil(box.left + box.width + more))
    bottom = min(size[1], ceil(box.top + box.height + more))
    return (left, top, right, bottom) if left < right and top < bottom else None


def encoded(rgb: Image.Image, format: str) -> bytes:
    """Return an image as a file of its own format: lossless, except JPEG, of quality 95."""
    name, options = _ENCODINGS.get(format, _LOSSLESS)
    out = io.BytesIO()
    rgb.save(out, name, **options)
    return out.getvalue()


def _changed_members(
    source: Path, find_faces: FaceFinder, margin: float, counts: Counter[str]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the header blocks and the new data of each image with faces, in order; count them."""
    for group in sample_groups(source):
        members = {member.extension: member.data[: member.size] for member in group.members}
        for member in group.members:
            if member.extension not in IMAGE_EXTENSIONS:
                continue
            try:
                picture = open_picture(members[member.extension])
            except Unusable:
                continue  # the index drops it and says why
            try:
                boxes = find_faces(picture.rgb, members)
            except Unusable:  # the index may keep it without its JSON
                boxes = [Box(0, 0, *picture.rgb.size)]
                counts["whole"] += 1
            except InputError as error:
                raise InputError(f"{source}: {shown(group.name)}: {error}") from error
            inside = [box for box in boxes if grown(box, picture.rgb.size, margin) is not None]
            counts.update({"pictures": 1, "with faces": bool(inside), "faces": len(inside)})
            if inside:
                face_free = blurred(picture.rgb, inside, margin=margin)
                yield member.blocks, encoded(face_free, picture.format)


def _copy_members(source: Path, target: BinaryIO, changes: Iterator[tuple[bytes, bytes]]) -> None:
    """Copy a tar with new data for some members, which `changes` names by their header blocks.

    The blocks of a sample without fault are unique in a tar, since its key is.
    """
    change = next(changes, None)
    file, size = open_shard(source)
    with file:
        tar = TarReader(file, size)
        try:
            while (head := tar.head()) is not None:
                if change is not None and head.blocks == change[0]:
                    target.write(_member(head.name, change[1]))
                    change = next(changes, None)
                else:
                    target.write(head.blocks)
                    target.writelines(tar.pieces())
            target.write(_END)
        except BrokenTar as broken:
            if broken.reason == DAMAGED:
                target.write(_NO_HEADER)
    assert change is None, "every changed member is in the tar"


def _member(name: bytes, data: bytes) -> bytes:
    """Return a member: plain ustar, or GNU's way where the name is too long for it."""
    member = tarfile.TarInfo(name.decode("utf-8", "surrogateescape"))
    member.size = len(data)
    try:
        blocks = member.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape")
    except ValueError:
        blocks = member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
    return blocks + data + bytes(-len(data) % BLOCK)
