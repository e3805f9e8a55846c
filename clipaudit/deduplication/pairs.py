"""Compares every pair of a cluster's samples, an earlier and a later one, panel by panel.

The pairs within a panel are a triangle of similarities; all others are a rectangle, in which
everything on one side is earlier than everything on the other. A cluster that fits in memory is one
panel. Larger ones are compared one panel at a time: its own pairs, then its pairs with all later
rows, which are read again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypedDict, runtime_checkable

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.deduplication.clusters import Cluster
from clipaudit.neighbors.interface import check_norms, vector_norms

TILE_ROWS = 512  # rows and columns multiplied at once in float64, 2 MB: speed, never results

Ranked = tuple[Int64[np.ndarray, " _"], Float16[np.ndarray, "_ d"]]  # ranks and their vectors


class Engine(TypedDict, total=False):
    """How pairs are compared: see `backends.search`; backend None takes the faster one."""

    backend: str | None
    device: str
    threads: int | None


@dataclass(frozen=True, eq=False)
class Removals:
    """At which thresholds each sample is removed, by its rank in the order.

    It is removed at every threshold below `similarity`, and at no other, as a duplicate of the
    sample of rank `earlier`; -inf and -1 for a sample that is never removed.
    """

    similarity: Float64[np.ndarray, " n"]
    earlier: Int64[np.ndarray, " n"]


@runtime_checkable
class Comparison(Protocol):
    """The consumer of the pairs; each comes once, in any order."""

    def within(self, first: int, vectors: Float16[np.ndarray, "m d"]) -> None:
        """Compare all pairs among the samples of rank `first` and following."""

    def across(
        self, first: int, earlier: Float16[np.ndarray, "m d"], later: Iterable[Ranked]
    ) -> None:
        """Compare the samples of rank `first` and following with samples of higher ranks."""

    def removals(self) -> Removals:
        """Return when each sample is removed, after all pairs."""


def compare(
    cluster: Cluster,
    ranks: Int64[np.ndarray, " n"],
    comparison: Comparison,
    *,
    held_rows: int,
) -> None:
    """Pass every pair of the cluster's samples to `comparison`; `ranks` is their order, from 0.

    Memory: up to `held_rows` vectors, and the ranks of all. A cluster of n rows is read once or,
    with more than `held_rows`, 2 n / held_rows times. Vectors too long for exact sums raise
    InputError.
    """
    for first, panel in _panels(cluster, ranks, held_rows):
        stop = first + len(panel)
        comparison.within(first, panel)
        if stop < len(ranks):
            comparison.across(first, panel, _from_rank(stop, cluster, ranks))


def tiles(
    first: int, earlier: Float16[np.ndarray, "m d"], later: Iterable[Ranked]
) -> Iterator[tuple[Ranked, Ranked]]:
    """Cut a rectangle into tiles of at most TILE_ROWS samples, of rank `first` and following, and
    as many later ones; or a triangle, if `later` are the samples themselves.

    Tiles without any pair of an earlier and a later sample are left out.
    """
    ranks = np.arange(first, first + len(earlier))
    for others, vectors in later:
        for start in range(0, len(others), TILE_ROWS):
            right = slice(start, start + TILE_ROWS)
            for other in range(0, len(ranks), TILE_ROWS):
                left = slice(other, other + TILE_ROWS)
                if ranks[other] < others[right].max():
                    yield (ranks[left], earlier[left]), (others[right], vectors[right])


def _panels(
    cluster: Cluster, ranks: Int64[np.ndarray, " n"], held_rows: int
) -> Iterator[tuple[int, Float16[np.ndarray, "m d"]]]:
    """Yield the vectors by rank, `held_rows` at a time, and the first rank."""
    for first in range(0, len(ranks), held_rows):
        stop = min(first + held_rows, len(ranks))
        panel: np.ndarray | None = None
        for start, block in _numbered(cluster):
            if first == 0:
                addresses = cluster.addresses[start : start + len(block)]
                check_norms(vector_norms(block), addresses, "train")
            if panel is None:
                panel = np.empty((stop - first, block.shape[1]), dtype=np.float16)
            rank = ranks[start : start + len(block)]
            inside = (rank >= first) & (rank < stop)
            panel[rank[inside] - first] = block[inside]
        assert panel is not None
        yield first, panel


def _from_rank(first: int, cluster: Cluster, ranks: Int64[np.ndarray, " n"]) -> Iterator[Ranked]:
    """Yield the samples of rank `first` and higher, in the order of the cluster."""
    for start, block in _numbered(cluster):
        rank = ranks[start : start + len(block)]
        later = rank >= first
        if later.any():
            yield rank[later], block[later]


def _numbered(cluster: Cluster) -> Iterator[tuple[int, Float16[np.ndarray, "_ d"]]]:
    """Yield the number of each block's first row, and the block."""
    start = 0
    for block in cluster.blocks():
        yield start, block
        start += len(block)
    assert start == len(cluster.addresses), f"cluster {cluster.number} changed while it was read"
