"""Sorts pairs of made copies and originals into own, negative and uninformative ones.

A copy's *own* pair is the one with its original. All other pairs are negative, except those with
repeats of its original, with the image it is pasted on, and with repeats of that: these are not
counted.

A method gives integers, which are distances (nearer is smaller), or float64, which are similarities
(nearer is larger). NaN is not allowed. If there is nothing to compare, an integer above every
threshold, or a similarity of -inf, keeps the pair from being found.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64, Integer, Num

_COUNTED_ROWS = 4096  # copies whose negative pairs are counted at once: memory, never results


@dataclass(frozen=True, eq=False)
class MadeCopies:
    """What each copy was made of, and how; in the order of the rows of every block."""

    original: Int64[np.ndarray, " c"]  # its original, from 0
    position: Int64[np.ndarray, " c"]  # in the list of ways
    background: Int64[np.ndarray, " c"]  # the original that it is pasted on, or -1


class PairsWithin(NamedTuple):
    """Pairs within a threshold, by copy, then by original: own pairs, and negative ones."""

    copy: Int64[np.ndarray, " p"]
    original: Int64[np.ndarray, " p"]
    own: Bool[np.ndarray, " p"]


class Spared:
    """The pairs that are not negative: own and uninformative ones."""

    def __init__(self, repeats: Int64[np.ndarray, "r 2"], originals: int) -> None:
        """Take pairs of originals, in any order, that are copies of each other."""
        from scipy.sparse import coo_array  # here: most of what imports this needs no scipy

        itself = np.arange(originals)[:, None].repeat(2, axis=1)  # (originals, 2)
        both = np.concatenate([repeats, repeats[:, ::-1], itself])
        ones = np.ones(len(both), np.int64)
        # The last row is empty, for copies that are pasted on nothing.
        self._same = coo_array((ones, tuple(both.T)), shape=(originals + 1, originals)).tocsr()
        self.originals = originals

    def cells(
        self, copies: MadeCopies, start: int, stop: int
    ) -> tuple[Integer[np.ndarray, " s"], Integer[np.ndarray, " s"]]:
        """Return rows (0 is `start`) and columns of the pairs of some copies that are spared."""
        background = copies.background[start:stop]
        background = np.where(background < 0, self.originals, background)
        rows, columns = (self._same[copies.original[start:stop]] + self._same[background]).nonzero()
        return rows, columns

    def count_negatives(self, copies: MadeCopies) -> int:
        """Return the number of negative pairs."""
        total = len(copies.original)
        spared = sum(
            len(self.cells(copies, start, min(start + _COUNTED_ROWS, total))[0])
            for start in range(0, total, _COUNTED_ROWS)
        )
        return total * self.originals - spared


def separate(
    copies: MadeCopies, spared: Spared, blocks: Iterable[np.ndarray]
) -> Iterator[tuple[Num[np.ndarray, " m"], Num[np.ndarray, " n"]]]:
    """Yield for each block the values of own pairs, by copy, and of negative pairs.

    A block, `Num["m originals"]`, holds the values of the next m copies. Raises ValueError for
    blocks of another width, and for more or fewer rows than copies.
    """
    for start, block in _numbered(copies, spared.originals, blocks):
        negative = np.ones(block.shape, bool)
        negative[spared.cells(copies, start, start + len(block))] = False
        yield block[_own_cells(copies, start, len(block))], block[negative]


def is_within(values: Num[np.ndarray, "*s"], threshold: float) -> Bool[np.ndarray, "*s"]:
    """Return which integers are at most, or which floats are at least, the threshold."""
    within: Bool[np.ndarray, "*s"]
    within = values >= threshold if values.dtype.kind == "f" else values <= threshold
    return within


def pairs_within(
    copies: MadeCopies,
    repeats: Int64[np.ndarray, "r 2"],
    blocks: Iterable[np.ndarray],
    threshold: float,
    *,
    originals: int,
) -> PairsWithin:
    """Return the own and the negative pairs within a threshold, for verification.

    Blocks are those of `separate`. Every pair that is found is held: at a chosen threshold there
    are few.
    """
    spared = Spared(repeats, originals)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for start, block in _numbered(copies, originals, blocks):
        own = _own_cells(copies, start, len(block))
        within = is_within(block, threshold)
        own_within = within[own]
        within[spared.cells(copies, start, start + len(block))] = False
        within[own] = own_within
        rows, columns = within.nonzero()
        found.append((rows + start, columns))
    copy, original = (np.concatenate(column) for column in zip(*found, strict=True))
    return PairsWithin(copy, original, copies.original[copy] == original)


def _own_cells(
    copies: MadeCopies, start: int, rows: int
) -> tuple[Int64[np.ndarray, " m"], Int64[np.ndarray, " m"]]:
    return np.arange(rows), copies.original[start : start + rows]


def _numbered(
    copies: MadeCopies, originals: int, blocks: Iterable[np.ndarray]
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the number of each block's first copy, and the block."""
    start, total = 0, len(copies.original)
    for block in blocks:
        if block.shape[1:] != (originals,) or start + len(block) > total:
            raise ValueError(
                f"a block of shape {block.shape} after {start} copies, expected at most "
                f"{total - start} rows of {originals} originals"
            )
        yield start, block
        start += len(block)
    if start != total:
        raise ValueError(f"blocks of {start} copies, expected {total}")
