"""Groups duplicates for every threshold together, by a maximum spanning forest of the pairs.

SemDeDup's text keeps one sample of each group that pairs above the threshold connect. Two samples
are in one group at threshold t iff some path of pairs between them has all its similarities above
t, and the maximum spanning forest has the path whose lowest similarity is highest. So n - 1 pairs
suffice: when too many wait, they are reduced to a forest, and a pair that the forest already
connects by more similar ones is skipped.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Unpack

import numpy as np
from jaxtyping import Float16, Float64, Int, Int64

from clipaudit.deduplication.pairs import Engine, Ranked, Removals, tiles
from clipaudit.neighbors.backends import SMALL_FOR_TORCH
from clipaudit.neighbors.cosines import cosines

WAITING_PAIRS = 1 << 18  # pairs that wait for the next reduction: speed and memory, never results
LEVELS = 8  # similarities at which a forest's groups are stored: speed, never results

# two ranks and their similarity, of many pairs or of the few of a forest
Pairs = tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"], Float64[np.ndarray, " m"]]
Forest = tuple[Int[np.ndarray, " f"], Int[np.ndarray, " f"], Float64[np.ndarray, " f"]]
Ranks = Int64[np.ndarray, " _"]
Level = tuple[float, Int[np.ndarray, " n"]]  # a similarity, and each rank's group from there up


class SpanningForest:
    """A `Comparison` that keeps a maximum spanning forest of the pairs above `floor`.

    `neighbors.range_search` finds pairs above a floor, unless there are so few that torch would
    take longer to start, or all are needed. Memory: `waiting` pairs and one tile's, or twice as
    many as there are samples if that is more.
    """

    def __init__(
        self,
        n: int,
        *,
        floor: float = -np.inf,
        waiting: int = WAITING_PAIRS,
        **engine: Unpack[Engine],
    ) -> None:
        """Start without any pair of n samples; only `n` and `floor` affect the result.

        The backend "numpy" uses plain tiles, any other screens on the device; threads are torch's.
        """
        self._n = n
        self._floor = floor
        self._backend = engine.get("backend")
        self._device = engine.get("device", "cpu")
        self._threads = engine.get("threads")
        self._patience = max(waiting, 2 * n)  # a forest has up to n - 1
        self._waiting: list[Pairs] = []
        self._held = 0
        self._groups: list[Level] = []  # by similarity, of the last forest

    def within(self, first: int, vectors: Float16[np.ndarray, "m d"]) -> None:
        """Keep the pairs that matter among the samples of rank `first` and following."""
        self.across(first, vectors, [(np.arange(first, first + len(vectors)), vectors)])

    def across(
        self, first: int, earlier: Float16[np.ndarray, "m d"], later: Iterable[Ranked]
    ) -> None:
        """Keep the pairs that matter of these samples with samples of higher ranks."""
        if not self._screened(earlier.shape[1]):
            for left, right in tiles(first, earlier, later):
                self._multiply(left, right)
            return
        from clipaudit.neighbors.range_search import RangeSearch

        numbers = np.arange(first, first + len(earlier))
        above = RangeSearch(earlier, device=self._device, threads=self._threads)
        for ranks, vectors in later:
            floor = partial(self._tile_floor, numbers, ranks)
            for lefts, rights, similarity in above.pairs(vectors, ranks - first, floor):
                self._keep(numbers[lefts], ranks[rights], similarity)

    def removals(self) -> Removals:
        """Return when each sample is removed: below the similarity that joins it to an earlier one.

        It is named as a duplicate of the first of all samples that this similarity joins.
        """
        similarity, earlier = np.full(self._n, -np.inf), np.full(self._n, -1, dtype=np.int64)
        parents: dict[int, int] = {}
        for level, pairs in groupby(self._falling_pairs(), key=lambda pair: pair[2]):
            joined = [_join(parents, left, right) for left, right, _ in pairs]
            similarity[joined] = level
            earlier[joined] = [_first(parents, rank) for rank in joined]
        return Removals(similarity, earlier)

    def _falling_pairs(self) -> Iterator[tuple[int, int, float]]:
        """Yield the forest's pairs by falling similarity."""
        if self._waiting:
            forest = self._forest()
            order = np.argsort(-forest[2], kind="stable")
            yield from zip(*(column[order].tolist() for column in forest), strict=True)

    def _screened(self, dimension: int) -> bool:
        """Return whether low precision pays: not for all pairs, nor for as few as NumPy does."""
        if np.isneginf(self._floor) or self._backend == "numpy":
            return False
        many = self._n * (self._n // 2) * dimension > SMALL_FOR_TORCH
        return many or self._backend is not None or self._device != "cpu"

    def _tile_floor(self, left: Ranks, right: Ranks, some: slice, others: slice) -> float:
        return self._floor_among(left[some], right[others])

    def _floor_among(self, left: Ranks, right: Ranks) -> float:
        """Return a similarity up to which pairs of these samples add no connection."""
        ranks = np.concatenate([left, right])
        for level, group in reversed(self._groups):
            if (group[ranks] == group[ranks[0]]).all():
                return max(self._floor, float(level))
        return self._floor

    def _multiply(self, left: Ranked, right: Ranked) -> None:
        similarity = cosines(left[1], right[1])
        rows, columns = np.nonzero(similarity > self._floor_among(left[0], right[0]))
        self._keep(left[0][rows], right[0][columns], similarity[rows, columns])

    def _keep(
        self,
        left: Int64[np.ndarray, " m"],
        right: Int64[np.ndarray, " m"],
        similarity: Float64[np.ndarray, " m"],
    ) -> None:
        """Keep the pairs whose left rank is lower, unless they add no connection."""
        kept = left < right
        left, right, similarity = left[kept], right[kept], similarity[kept]
        for level, group in self._groups:
            kept = (similarity > level) | (group[left] != group[right])
            left, right, similarity = left[kept], right[kept], similarity[kept]
        if len(left):
            self._waiting.append((left, right, similarity))
            self._held += len(left)
        if self._held > self._patience:
            self._reduce()

    def _reduce(self) -> None:
        forest = self._forest()
        self._waiting, self._held = [forest], len(forest[0])
        levels = np.unique(np.quantile(forest[2], np.linspace(0, 1, LEVELS), method="lower"))
        self._groups = [(level, groups_above(self._n, forest, level)) for level in levels]

    def _forest(self) -> Forest:
        left, right, similarity = map(np.concatenate, zip(*self._waiting, strict=True))
        return spanning_forest(self._n, (left, right, similarity))


def spanning_forest(n: int, pairs: Pairs) -> Forest:
    """Return a maximum spanning forest of a graph of n nodes; each pair may occur once.

    scipy chooses among several equal ones, but the groups above any threshold are unique.

    >>> pairs = (np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.0, 0.5, -0.5]))
    >>> sorted(spanning_forest(3, pairs)[2].tolist())
    [0.0, 0.5]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    left, right, similarity = pairs
    levels, level = np.unique(similarity, return_inverse=True)
    # the highest similarity costs least, and no pair costs 0, which would be no edge
    cost = (len(levels) - level).astype(np.float64)
    forest = minimum_spanning_tree(csr_array((cost, (left, right)), shape=(n, n))).tocoo()
    return forest.row, forest.col, levels[len(levels) - forest.data.astype(np.int64)]


def groups_above(n: int, forest: Forest, similarity: float) -> Int[np.ndarray, " n"]:
    """Return the number of each node's group, connected by pairs from `similarity` up.

    >>> groups_above(3, (np.array([0, 1]), np.array([1, 2]), np.array([0.5, 0.25])), 0.5).tolist()
    [0, 0, 1]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    left, right, similarities = forest
    high = similarities >= similarity
    ones = np.ones(int(high.sum()), dtype=np.int8)
    graph = csr_array((ones, (left[high], right[high])), shape=(n, n))
    groups: np.ndarray = connected_components(graph, directed=False)[1]
    return groups


def _join(parents: dict[int, int], left: int, right: int) -> int:
    """Join two groups, and return the first member that is not the first of the joint group."""
    low, high = sorted((_first(parents, left), _first(parents, right)))
    parents[high] = low
    return high


def _first(parents: dict[int, int], rank: int) -> int:
    """Return the first member of a group, and shorten the path to it."""
    first = rank
    while first in parents:
        first = parents[first]
    while rank != first:
        parents[rank], rank = first, parents[rank]
    return first
