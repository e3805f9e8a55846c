"""Finds each sample's most similar earlier one, which decides in SemDeDup's and clip-ood's code.

A rectangle of pairs is a search for one nearest neighbour: work for the nearest engine, which is
exact and runs on the fastest hardware. Its native backend also takes a triangle. For torch, a
triangle is cut in halves, with a rectangle between them, until blocks are small; these are
multiplied in float64, a small share of a large cluster. In a small cluster all pairs are multiplied
so, since the engine takes time to start and its plain backend also keeps each query's neighbours,
which are not needed here.
"""

from collections.abc import Iterable
from typing import Unpack

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.deduplication.pairs import Engine, Ranked, Removals, tiles
from clipaudit.neighbors.backends import quicker_backend, runs_natively, search
from clipaudit.neighbors.cosines import cosines
from clipaudit.neighbors.interface import Queries

BLOCK_ROWS = 1_024  # rows whose pairs are multiplied in float64: speed, never results


class NearestEarlier:
    """A `Comparison` that keeps one value per sample; the earliest wins a tie."""

    def __init__(self, n: int, *, block_rows: int = BLOCK_ROWS, **engine: Unpack[Engine]) -> None:
        """Start without any pair of n samples; only `n` affects the result.

        The backend "numpy" uses plain tiles here. Triangles of up to `block_rows` rows are
        multiplied in float64 if the engine takes none.
        """
        self._similarity = np.full(n, -np.inf)
        self._earlier = np.full(n, -1, dtype=np.int64)
        self._backend = engine.get("backend")
        self._device = engine.get("device", "cpu")
        self._threads = engine.get("threads")
        self._block_rows = block_rows

    def within(self, first: int, vectors: Float16[np.ndarray, "m d"]) -> None:
        """Compare all pairs among the samples of rank `first` and following."""
        ranks = np.arange(first, first + len(vectors))
        backend = self._quicker_backend(vectors.shape[1])
        if backend == "native" and runs_natively(self._device):
            from clipaudit.neighbors.native.search import nearest_earlier

            similarity, earlier = nearest_earlier(vectors, threads=self._threads)
            self._offer(ranks[1:], similarity[1:], earlier[1:] + first)
        elif backend == "numpy" or len(vectors) <= self._block_rows:
            self._multiply(first, vectors, [(ranks, vectors)])
        else:
            half = len(vectors) // 2
            self.within(first, vectors[:half])
            self.within(first + half, vectors[half:])
            self.across(first, vectors[:half], [(ranks[half:], vectors[half:])])

    def across(
        self, first: int, earlier: Float16[np.ndarray, "m d"], later: Iterable[Ranked]
    ) -> None:
        """Compare the samples of rank `first` and following with samples of higher ranks."""
        backend = self._quicker_backend(earlier.shape[1])
        if backend == "numpy":
            self._multiply(first, earlier, later)
            return
        engine = search(
            Queries(earlier, (0, len(earlier)), np.arange(first, first + len(earlier))),
            k=1,
            backend=backend,
            device=self._device,
            threads=self._threads,
        )
        for ranks, vectors in later:
            best = engine.rows(ranks, vectors)
            self._offer(ranks, best.similarity[:, 0], best.query[:, 0] + first)

    def removals(self) -> Removals:
        """Return when each sample is removed: below its highest earlier similarity."""
        return Removals(self._similarity, self._earlier)

    def _multiply(
        self, first: int, earlier: Float16[np.ndarray, "m d"], later: Iterable[Ranked]
    ) -> None:
        for (left, left_vectors), (right, right_vectors) in tiles(first, earlier, later):
            similarity = cosines(right_vectors, left_vectors)
            similarity[left >= right[:, None]] = -np.inf
            nearest = similarity.argmax(axis=1)  # the first of equals
            self._offer(right, similarity[np.arange(len(right)), nearest], left[nearest])

    def _offer(
        self,
        ranks: Int64[np.ndarray, " m"],
        similarity: Float64[np.ndarray, " m"],
        earlier: Int64[np.ndarray, " m"],
    ) -> None:
        held, holder = self._similarity[ranks], self._earlier[ranks]
        better = (similarity > held) | ((similarity == held) & (earlier < holder))
        self._similarity[ranks[better]] = similarity[better]
        self._earlier[ranks[better]] = earlier[better]

    def _quicker_backend(self, dimension: int) -> str:
        """Return one backend for all of a cluster's searches: the engine pays for many."""
        n = len(self._similarity)
        return self._backend or quicker_backend(n, n // 2, dimension, device=self._device)
