"""Finds the pairs of hashes, or of thumbnails, within a distance: exact, in bounded memory.

Both searches are faiss's flat ones. The hashes that are searched are held in blocks that fit a
processor's cache, and the others stream past them: twice as fast as the other way round.
"""

from collections.abc import Iterator
from typing import NamedTuple

import faiss
import numpy as np
from jaxtyping import Int32, Int64, UInt8

HASH_BLOCK = 8_192  # 256 kB: a processor's second cache
STREAM_BLOCK = 1_024  # all pairs of two blocks may be near: 8 million, as fast as larger blocks
THUMBNAIL_BLOCK = 1_024


class Pairs(NamedTuple):
    """Pairs by their positions in two arrays, and how far apart they are."""

    first: Int64[np.ndarray, " n"]
    second: Int64[np.ndarray, " n"]
    distance: Int32[np.ndarray, " n"]


def hash_pairs(
    first: UInt8[np.ndarray, "n 32"], second: UInt8[np.ndarray, "m 32"], *, distance: int
) -> Iterator[Pairs]:
    """Yield all pairs whose hashes differ in at most `distance` of 256 bits, block by block.

    `first` should be the smaller one. Memory is bounded by the blocks and the pairs found in one.
    The order is that of the blocks, then of `second`; the set of pairs depends on nothing else.
    """
    for start in range(0, len(first), HASH_BLOCK):
        index = faiss.IndexBinaryFlat(8 * first.shape[1])
        index.add(np.ascontiguousarray(first[start : start + HASH_BLOCK]))
        for other in range(0, len(second), STREAM_BLOCK):
            block = np.ascontiguousarray(second[other : other + STREAM_BLOCK])
            limits, distances, found = index.range_search(block, distance + 1)  # strictly below
            yield _pairs(limits, distances, found, start, other)


def thumbnail_pairs(
    first: UInt8[np.ndarray, "n 192"], second: UInt8[np.ndarray, "m 192"], *, distance: int
) -> Iterator[Pairs]:
    """Yield all pairs of thumbnails whose squared distance is at most `distance`, block by block.

    Values are at most 127, so that every sum is an integer below 2^24, exact in float32.
    """
    for start in range(0, len(first), THUMBNAIL_BLOCK):
        index = faiss.IndexFlatL2(first.shape[1])
        index.add(first[start : start + THUMBNAIL_BLOCK].astype(np.float32))
        for other in range(0, len(second), STREAM_BLOCK):
            block = second[other : other + STREAM_BLOCK].astype(np.float32)
            limits, distances, found = index.range_search(block, distance + 0.5)
            yield _pairs(limits, distances, found, start, other)


def _pairs(
    limits: np.ndarray, distances: np.ndarray, found: np.ndarray, start: int, other: int
) -> Pairs:
    second = np.repeat(np.arange(len(limits) - 1, dtype=np.int64), np.diff(limits.astype(np.int64)))
    return Pairs(
        found.astype(np.int64) + start, second + other, np.rint(distances).astype(np.int32)
    )
