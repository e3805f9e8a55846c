"""Computes what finds candidate copies: digests, perceptual hashes and a thumbnail of each image.

The hash is PDQ (256 bits, Meta's), of the image reduced to 64 x 64 pixels by area averaging, which
makes it the same for an image in any size. At half the size, 100 % of 120 drawings stayed within a
distance of 31; with hashes of the full-size image, 90 % did. So these hashes cannot be compared
with those of other tools.
"""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from clipaudit.copies.pdq import HASH_BYTES, HASH_SIDE, Hashes, pdq
from clipaudit.copies.views import Rgb
from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.drops import table_of_rows
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.corpora.shards import first_image, raw_samples
from clipaudit.errors import InputError
from clipaudit.models.spread import spread
from clipaudit.progress import Progress

LOW_QUALITY = 50  # PDQ's own advice: below, a hash says little
THUMBNAIL_SIDE = 8
THUMBNAIL_BYTES = THUMBNAIL_SIDE * THUMBNAIL_SIDE * 3

IMAGES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("image_sha256", pa.string(), nullable=False),  # of the file's bytes
        pa.field("pixels_sha256", pa.string(), nullable=False),  # of width, height and RGB
        pa.field("quality", pa.int16(), nullable=False),  # PDQ's, 0 to 100, of the whole image
        # the mean colours of 8 x 8 fields, RGB from 0 to 127: distances are exact in float32
        pa.field("thumbnail", pa.binary(THUMBNAIL_BYTES), nullable=False),
    ]
)
HASHES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("view", pa.string(), nullable=False),  # a name of clipaudit.copies.views
        pa.field("quality", pa.int16(), nullable=False),
        pa.field("hash", pa.binary(HASH_BYTES), nullable=False),
    ]
)

WORTH_A_PROCESS = 1000  # images: some five seconds
HELD_IMAGES = 512  # as Python objects, which take thrice the memory of tables; never results

Views = Callable[[Rgb], Iterable[tuple[str, Rgb]]]
HashedImage = tuple[
    tuple[object, ...], Sequence[tuple[object, ...]]
]  # rows of IMAGES and of HASHES

_log = logging.getLogger(__name__)


class OpenedImage(NamedTuple):
    """A decoded image of a shard; `image_sha256` is that of its file's bytes, in hex."""

    shard: int
    row: int
    image_sha256: str
    rgb: Rgb


def image_hashes(images: Sequence[Rgb]) -> Hashes:
    """Return the hashes of one or more images of any sizes.

    With a quality below LOW_QUALITY a hash says little: the image is too flat.
    """
    return pdq(np.stack([_resized(image, HASH_SIDE) for image in images]))


def thumbnail(image: Rgb) -> bytes:
    """Return the mean colours of 8 x 8 fields of an image, THUMBNAIL_BYTES from 0 to 127."""
    return (_resized(image, THUMBNAIL_SIDE) >> 1).tobytes()


def pixels_digest(image: Rgb) -> str:
    """Return the SHA-256 of an image's width, height and RGB values, in hex."""
    digest = hashlib.sha256(np.array(image.shape, dtype="<i4").tobytes())
    digest.update(np.ascontiguousarray(image).data)
    return digest.hexdigest()


def hash_images(
    shards: Sequence[tuple[int, Path]], samples: pa.Table, views: Views, *, workers: int = 1
) -> tuple[pa.Table, pa.Table]:
    """Return IMAGES and HASHES of the rows in `samples`; see `open_images` for the arguments.

    Up to `workers` processes read and hash.
    """

    addresses = samples.select(["shard", "row"])  # other texts may exceed what `take` can join

    def hashed(rows: Sequence[int]) -> Iterator[HashedImage]:
        some = addresses.take(pa.array(rows, pa.int64()))
        return (_hashed(image, views) for image in open_images(shards, some))

    progress = Progress(_log, "hashing", total=len(samples), unit="images")
    blocks: list[tuple[pa.Table, pa.Table]] = []
    held: list[HashedImage] = []
    found = spread(hashed, len(samples), workers=workers, each=WORTH_A_PROCESS)
    for number, image in enumerate(found, 1):
        held.append(image)
        if len(held) == HELD_IMAGES:
            blocks.append(_tables(held))
            held = []
        progress.note(number)
    blocks.append(_tables(held))
    images, hashes = map(pa.concat_tables, zip(*blocks, strict=True))
    return images, hashes


def open_images(shards: Sequence[tuple[int, Path]], samples: pa.Table) -> Iterator[OpenedImage]:
    """Yield the images of the rows in `samples`, ordered by (shard, row) as these are.

    `shards` gives each shard number's tar, ascending. Raises InputError for a tar that is not the
    one that was indexed.
    """
    addresses = sample_addresses(samples)
    assert np.all(np.diff(addresses) > 0), "samples must be sorted by (shard, row)"
    for number, path in shards:
        rows = set((addresses[addresses >> 32 == number] & 0xFFFFFFFF).tolist())
        found = 0
        for sample in raw_samples(path, rows.__contains__) if rows else ():
            found += 1
            image = first_image(sample.members)
            if image is None:
                raise _changed(path, sample.row, sample.detail or "it has no image")
            yield OpenedImage(number, sample.row, _sha256(image), _decoded(image, path, sample.row))
        if found != len(rows):
            raise _changed(path, max(rows), f"found {found} of {len(rows)} indexed samples")


def hash_opened(images: Iterable[OpenedImage], views: Views) -> tuple[pa.Table, pa.Table]:
    """Return IMAGES, one row per image, and HASHES, one row per image and view, in order."""
    return _tables([_hashed(image, views) for image in images])


def hash_array(hashes: pa.Table) -> UInt8[np.ndarray, "n 32"]:
    """Return the column `hash` of HASHES as rows of bytes."""
    return _binary_rows(hashes["hash"], HASH_BYTES)


def thumbnail_array(images: pa.Table) -> UInt8[np.ndarray, "n 192"]:
    """Return the column `thumbnail` of IMAGES as rows of bytes."""
    return _binary_rows(images["thumbnail"], THUMBNAIL_BYTES)


def _binary_rows(column: pa.ChunkedArray, width: int) -> UInt8[np.ndarray, "n width"]:
    joined = column.combine_chunks()
    values = np.frombuffer(joined.buffers()[1] or b"", dtype=np.uint8)
    start = joined.offset * width
    return values[start : start + len(joined) * width].reshape(len(joined), width)


def _hashed(image: OpenedImage, views: Views) -> HashedImage:
    shard, row, digest, rgb = image
    names, seen = zip(*views(rgb), strict=True)  # the whole image first
    codes, found = image_hashes(seen)
    qualities = found.tolist()
    hashes = [
        (shard, row, name, quality, code.tobytes())
        for name, quality, code in zip(names, qualities, codes, strict=True)
    ]
    return (shard, row, digest, pixels_digest(rgb), qualities[0], thumbnail(rgb)), hashes


def _tables(images: Sequence[HashedImage]) -> tuple[pa.Table, pa.Table]:
    hashes = [view for _, views in images for view in views]
    return table_of_rows([facts for facts, _ in images], IMAGES), table_of_rows(hashes, HASHES)


def _resized(image: Rgb, side: int) -> Rgb:
    """Return an image as a square: by area averaging, or linearly where it is smaller."""
    shrinks = min(image.shape[:2]) >= side
    how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    return cv2.resize(np.ascontiguousarray(image), (side, side), interpolation=how)


def _decoded(image: bytes, path: Path, row: int) -> Rgb:
    try:
        return np.asarray(open_picture(image, as_shown=True).rgb)
    except Unusable as error:
        raise _changed(path, row, f"{error.reason} {error.detail}".strip()) from error


def _sha256(image: bytes) -> str:
    return hashlib.sha256(image).hexdigest()


def _changed(path: Path, row: int, why: str) -> InputError:
    return InputError(
        f"{path}: row {row}: {why}, but the index has a usable image. The tar was changed after "
        "indexing; index it again."
    )
