"""Finds all pairs above a similarity: candidates in low precision, decisions in float64."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.neighbors.panels import Stored, cosines, load, pair_cosines, stored
from clipaudit.neighbors.screening import (
    Precision,
    Rounded,
    check_bound,
    error_bound,
    fastest,
    rounded,
    strict_products,
)

TILE_ROWS = 512  # vectors of each side multiplied at once: speed and memory, never results
CROWDED = 1 / 16  # of a tile's pairs: scoring this many one by one costs as much as all at once

# The numbers of left and right vectors, and their exact similarities.
Pairs = tuple[Int64[np.ndarray, " m"], Int64[np.ndarray, " m"], Float64[np.ndarray, " m"]]
# The similarity up to which pairs of these left and right vectors are not needed.
Floor = Callable[[slice, slice], float]


@dataclass(frozen=True, eq=False)
class _Side:
    """Up to TILE_ROWS vectors on the device, exactly and in screening precision."""

    numbers: slice
    exact: Stored
    low: Rounded


class RangeSearch:
    """Finds the pairs of given left vectors and others whose exact similarity is above a floor.

    `device` and `threads` (of the CPU; None: the process's setting) do not affect the result.
    Vectors must pass `interface.check_norms`. Memory: the left vectors twice, and up to 10 MB for a
    tile and its pairs.
    """

    def __init__(
        self,
        left: Float16[np.ndarray, "a d"],
        *,
        device: str = "cpu",
        threads: int | None = None,
    ) -> None:
        """Copy the left vectors to the device."""
        self._device = device
        self._threads = threads
        self._precision = fastest(device)
        self._left = list(self._sides(left))

    def pairs(
        self, right: Float16[np.ndarray, "b d"], met: Int64[np.ndarray, " b"], floor: Floor
    ) -> Iterator[Pairs]:
        """Yield the pairs of each tile, also of empty ones, by rising left, then right number.

        Right vector j is compared with the left ones numbered below `met[j]`. Tiles without any
        such pair are left out; the others may contain pairs of later ones. A tile's floor is
        requested when its turn comes.
        """
        for side in self._sides(right):
            most = met[side.numbers].max()
            for left in self._left:
                if left.numbers.start < most:
                    yield self._tile(left, side, floor(left.numbers, side.numbers))

    def _sides(self, vectors: Float16[np.ndarray, "n d"]) -> Iterator[_Side]:
        for start in range(0, len(vectors), TILE_ROWS):
            numbers = slice(start, min(start + TILE_ROWS, len(vectors)))
            exact = stored(load(vectors[numbers], self._device))
            low = rounded(exact.vectors, exact.squares, self._precision)
            yield _Side(numbers, exact, low)

    def _tile(self, left: _Side, right: _Side, floor: float) -> Pairs:
        bound = error_bound(left.low, right.low, self._precision)
        with strict_products(self._threads):
            scores = left.low.vectors @ right.low.vectors.T
            reaching = scores >= _at_most(floor - bound, self._precision)
            if int(reaching.count_nonzero()) > CROWDED * reaching.numel():
                exact = cosines(left.exact, right.exact)
                rows, columns = (exact > floor).nonzero(as_tuple=True)
                similarity = exact[rows, columns]
            else:
                rows, columns = reaching.nonzero(as_tuple=True)
                similarity = pair_cosines(left.exact, right.exact, rows, columns)
                check_bound(scores[rows, columns].double(), similarity, bound)
                above = similarity > floor
                rows, columns, similarity = rows[above], columns[above], similarity[above]
        numbers = rows + left.numbers.start, columns + right.numbers.start
        return numbers[0].cpu().numpy(), numbers[1].cpu().numpy(), similarity.cpu().numpy()


def _at_most(number: float, precision: Precision) -> float:
    """Return a number that is still at most `number` when torch rounds it to the precision."""
    return number - 2 * (precision.result * abs(number) + precision.floor)
