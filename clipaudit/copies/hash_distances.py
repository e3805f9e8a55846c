"""How far copies are from their originals by the hashes of their views, and by thumbnails.

They are compared as `copies.candidates` compares the images of a run, a pair at a time.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64

from clipaudit.copies.candidates import THUMBNAIL_DISTANCE
from clipaudit.copies.hashing import LOW_QUALITY, image_hash, thumbnail
from clipaudit.copies.views import HALVES, Rgb

UNKNOWN_DISTANCE = 256  # of a pair of which either hash says nothing


class Hashed(NamedTuple):
    """The hashes of an image's views that say something, as four words each, and its thumbnail."""

    codes: UInt64[np.ndarray, "v 4"]
    names: np.ndarray  # of the views
    is_clear: bool  # whether the whole image's hash says something
    thumbnail: bytes


def hashed(views: Iterable[tuple[str, Rgb]]) -> Hashed:
    """Return the hashes of an image by its views, of which the first is the whole image."""
    small, found = b"", []
    for name, view in views:
        small = small or thumbnail(view)
        found.append((name, *image_hash(view)))
    clear = [each for each in found if each[2] >= LOW_QUALITY]
    codes = np.frombuffer(b"".join(code for _, code, _ in clear), np.uint64).reshape(-1, 4)
    names = np.array([name for name, _, _ in clear], dtype=np.str_)
    return Hashed(codes, names, found[0][2] >= LOW_QUALITY, small)


def hash_distance(copy: Hashed, original: Hashed) -> int:
    """Return the distance of the nearest two views that `find_candidates` compares."""
    bits = np.bitwise_count(copy.codes[:, None, :] ^ original.codes[None, :, :])
    differing = bits.sum(axis=2, dtype=np.int64)
    halves = np.array(list(HALVES))
    is_half = np.isin(copy.names, halves)[:, None], np.isin(original.names, halves)[None, :]
    same = copy.names[:, None] == original.names[None, :]
    compared = (~is_half[0] & ~is_half[1]) | (is_half[0] & same)
    return int(differing[compared].min(initial=UNKNOWN_DISTANCE))


def near_thumbnails(copy: Hashed, original: Hashed) -> bool:
    """Return whether thumbnails find a pair that is too flat for hashes: see find_candidates."""
    if original.is_clear and copy.is_clear:
        return False
    left, right = (np.frombuffer(each.thumbnail, np.uint8).astype(int) for each in (original, copy))
    return int(((left - right) ** 2).sum()) <= THUMBNAIL_DISTANCE
