"""Computes the distances of copies to originals by the hashes of their views, and by thumbnails.

`copies.candidates` compares the images of a run in the same way.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from clipaudit.copies.candidates import THUMBNAIL_DISTANCE
from clipaudit.copies.hashing import LOW_QUALITY, image_hashes, thumbnail
from clipaudit.copies.views import HALVES, WHOLE, Rgb

UNKNOWN_DISTANCE = 256  # of a pair with an uninformative hash


class Hashed(NamedTuple):
    """The informative hashes of an image's views, as four words each, and its thumbnail."""

    codes: UInt64[np.ndarray, "v 4"]
    names: np.ndarray  # of the views
    is_clear: bool  # whether the whole image's hash is informative
    thumbnail: bytes


def hashed(views: Iterable[tuple[str, Rgb]]) -> Hashed:
    """Return the hashes of an image by its views; the first view is the whole image."""
    names, seen = zip(*views, strict=True)
    codes, qualities = image_hashes(seen)
    clear = qualities >= LOW_QUALITY
    words = codes[clear].view(np.uint64)
    return Hashed(words, np.array(names, np.str_)[clear], bool(clear[0]), thumbnail(seen[0]))


def hash_distances(
    copies: Iterable[Hashed], originals: Sequence[Hashed]
) -> Int64[np.ndarray, "c o"]:
    """Return for each copy and original the distance of the nearest two compared views.

    `find_candidates` compares the same views. Without any, it is UNKNOWN_DISTANCE.
    """
    none = np.zeros((0, 4), np.uint64), np.zeros(0, np.str_)
    codes = np.concatenate([none[0], *(each.codes for each in originals)])
    names = np.concatenate([none[1], *(each.names for each in originals)])
    owner = np.repeat(np.arange(len(originals)), [len(each.codes) for each in originals])
    half = _are_halves(names)
    rows = []
    for copy in copies:
        row = np.full(len(originals), UNKNOWN_DISTANCE)
        np.minimum.at(row, owner, _nearest(copy, codes, names, half))
        rows.append(row)
    return np.array(rows, np.int64).reshape(len(rows), len(originals))


def nearest_view(copy: Hashed, original: Hashed, *, within: float) -> str | None:
    """Return the original's view that is nearest to the copy, None if it is farther than `within`.

    Ties are decided as in `find_candidates`: the whole image, then by name.
    """
    names = original.names.tolist()
    distances = _nearest(copy, original.codes, original.names, _are_halves(original.names)).tolist()
    order = sorted(zip(distances, [name != WHOLE for name in names], names, strict=True))
    return order[0][2] if order and order[0][0] <= within else None


def _nearest(
    copy: Hashed,
    codes: UInt64[np.ndarray, "v 4"],
    names: np.ndarray,
    half: Bool[np.ndarray, " v"],
) -> Int64[np.ndarray, " v"]:
    """Return for each view the distance of the copy's nearest view that it is compared with."""
    own_half = _are_halves(copy.names)[:, None]
    compared = (~own_half & ~half) | (own_half & (copy.names[:, None] == names))
    bits = np.zeros(compared.shape, np.int64)
    for word in range(codes.shape[1]):
        bits += np.bitwise_count(copy.codes[:, None, word] ^ codes[:, word])
    nearest: np.ndarray = np.where(compared, bits, UNKNOWN_DISTANCE).min(
        axis=0, initial=UNKNOWN_DISTANCE
    )
    return nearest


def _are_halves(names: np.ndarray) -> Bool[np.ndarray, " v"]:
    return np.isin(names, list(HALVES))


def near_thumbnails(copy: Hashed, original: Hashed) -> bool:
    """Return whether thumbnails find a pair that is too flat for hashes: see find_candidates."""
    if original.is_clear and copy.is_clear:
        return False
    left, right = (np.frombuffer(each.thumbnail, np.uint8).astype(int) for each in (original, copy))
    return int(((left - right) ** 2).sum()) <= THUMBNAIL_DISTANCE
