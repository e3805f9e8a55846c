"""Each sample's most similar earlier one: what decides in SemDeDup's and in clip-ood's code.

A rectangle of pairs is a search for one nearest neighbour: work for the nearest engine, which is
exact, and runs on what multiplies fastest. It cannot mask a triangle, so pairs within a block are
multiplied in float64; with blocks of a thousand rows that is a small share of a large cluster.
In a small cluster all pairs are, since torch is slow to start and the engine's plain backend also
keeps each query's neighbours, which nobody asks for here.
"""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.neighbors.backends import SMALL_SEARCH, search
from clipaudit.neighbors.interface import Queries
from clipaudit.similarity.pairs import Ranked, Removals, tiles


class NearestEarlier:
    """A `Comparison` that keeps one value a sample; the earliest of equals wins."""

    def __init__(
        self, n: int, *, backend: str | None = None, device: str = "cpu", threads: int | None = None
    ) -> None:
        """Start before any pair of n samples; only `n` shows in the result.

        `backend`, `device` and `threads` are those of `backends.search`, but that "numpy" is plain
        tiles here; None takes what answers sooner.
        """
        self._similarity = np.full(n, -np.inf)
        self._earlier = np.full(n, -1, dtype=np.int64)
        self._backend = backend
        self._device = device
        self._threads = threads

    def within(self, first: int, vectors: Float16[np.ndarray, "m d"]) -> None:
        """Compare all pairs among the samples of rank `first` and following."""
        ranks = np.arange(first, first + len(vectors))
        self._multiply(first, vectors, [(ranks, vectors)])

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
        """Return who leaves when: below its similarity to the most similar earlier sample."""
        return Removals(self._similarity, self._earlier)

    def _multiply(
        self, first: int, earlier: Float16[np.ndarray, "m d"], later: Iterable[Ranked]
    ) -> None:
        for (left, left_vectors), (right, right_vectors) in tiles(first, earlier, later):
            product = right_vectors.astype(np.float64) @ left_vectors.astype(np.float64).T
            product += 0.0  # -0.0 becomes 0.0
            product[left >= right[:, None]] = -np.inf
            nearest = product.argmax(axis=1)  # the first of equals
            self._offer(right, product[np.arange(len(right)), nearest], left[nearest])

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
        """One for all of a cluster's searches: torch pays where they are many products together."""
        products = len(self._similarity) ** 2 // 2 * dimension
        return self._backend or (
            "numpy" if self._device == "cpu" and products <= SMALL_SEARCH else "native"
        )
