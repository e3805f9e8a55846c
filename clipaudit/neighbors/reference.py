"""Searches plainly, by blocked float64 cosines in NumPy; every other backend must equal it."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.neighbors.cosines import cosines
from clipaudit.neighbors.interface import (
    Queries,
    RowBest,
    TopK,
    check_norms,
    check_vectors,
    vector_norms,
)
from clipaudit.neighbors.merging import empty, select


class Reference:
    """A `Search` that computes every similarity exactly; memory grows with the two block sizes."""

    def __init__(self, queries: Queries, k: int, *, block_rows: int, block_queries: int) -> None:
        """Start with no train samples; the block sizes do not affect results."""
        self._queries = queries
        self._k = k
        self._block_rows = block_rows
        self._block_queries = block_queries
        self._top = empty(len(queries.vectors), k)

    def rows(
        self, addresses: Int64[np.ndarray, " n"], block: Float16[np.ndarray, "n d"]
    ) -> RowBest:
        """Return the block's nearest queries, and remember the block for `top`."""
        check_vectors(block, "train block", self._queries.dimension)
        check_norms(vector_norms(block), addresses, "train")
        shape = (len(block), len(self._queries.starts) - 1)
        best = RowBest(*_nobody(shape), *_nobody(shape))
        excess = np.zeros(shape)  # strictly above 0 counts
        for start in range(0, len(block), self._block_rows):
            part = slice(start, start + self._block_rows)
            for group, panel in self._panels():
                similarity = cosines(block[part], self._queries.vectors[panel])  # (b, w)
                self._fold(panel, similarity, addresses[part])
                value, query = best.similarity[part, group], best.query[part, group]
                _improve(value, query, similarity, similarity, panel.start)
                if self._queries.gaps is not None:
                    offers = similarity - self._queries.gaps[panel]
                    value, query = excess[part, group], best.excess_query[part, group]
                    rows, beyond = _improve(value, query, offers, similarity, panel.start)
                    best.excess_similarity[part, group][rows] = beyond
        return best

    def top(self) -> TopK:
        """Return each query's nearest train samples among all blocks so far."""
        return TopK(self._top.similarity.copy(), self._top.address.copy())

    def _panels(self) -> Iterator[tuple[int, slice]]:
        """Yield the number of a set and some of its queries, for all queries."""
        for group, (first, last) in enumerate(self._queries.sets()):
            for start in range(first, last, self._block_queries):
                yield group, slice(start, min(start + self._block_queries, last))

    def _fold(
        self,
        panel: slice,
        similarity: Float64[np.ndarray, "b w"],
        addresses: Int64[np.ndarray, " b"],
    ) -> None:
        """Add the rows to the panel's k nearest if they are near enough."""
        top = TopK(self._top.similarity[panel], self._top.address[panel])  # views
        hit = similarity.max(axis=0) >= top.similarity[:, -1]  # a tie may have a lower address
        rows = np.broadcast_to(addresses, (int(hit.sum()), len(addresses)))
        merged = select(
            np.concatenate([top.similarity[hit], similarity[:, hit].T], axis=1),
            np.concatenate([top.address[hit], rows], axis=1),
            self._k,
        )
        top.similarity[hit] = merged.similarity
        top.address[hit] = merged.address


def _nobody(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    return np.full(shape, -np.inf), np.full(shape, -1, dtype=np.int64)


def _improve(
    value: Float64[np.ndarray, " b"],
    query: Int64[np.ndarray, " b"],
    offers: Float64[np.ndarray, "b w"],
    similarity: Float64[np.ndarray, "b w"],
    start: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Update `value` and `query` where an offer is higher; return these rows and similarities.

    Panels come in rising order and argmax takes the first in a tie, so the lowest query wins.
    """
    column = offers.argmax(axis=1)
    highest = np.take_along_axis(offers, column[:, None], axis=1)[:, 0]
    rows = np.flatnonzero(highest > value)
    value[rows] = highest[rows]
    query[rows] = column[rows] + start
    return rows, similarity[rows, column[rows]]
