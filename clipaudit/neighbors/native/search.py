"""Searches with the native library: every decision equals the reference's."""

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.neighbors.interface import Queries, RowBest, TopK, check_vectors
from clipaudit.neighbors.merging import empty
from clipaudit.neighbors.native.handle import Handle, padded


class Native:
    """A `Search` on x86 processors; memory grows with queries times k, and rows of a block."""

    def __init__(
        self, queries: Queries, k: int, *, threads: int | None = None, kernel: str | None = None
    ) -> None:
        """Start with no train samples.

        Only `queries` and `k` affect the output. `kernel` is one of `library.kernels`; None takes
        the fastest. `threads` None takes all processors that the process may run on.
        """
        empty(0, k)  # refuses a k below 1
        self._queries = queries
        self._k = k
        self._handle = Handle(queries.vectors, queries.starts, queries.gaps, k, threads, kernel)

    def rows(
        self, addresses: Int64[np.ndarray, " n"], block: Float16[np.ndarray, "n d"]
    ) -> RowBest:
        """Return the block's nearest queries, and remember the block for `top`."""
        check_vectors(block, "train block", self._queries.dimension)
        operands = np.ascontiguousarray(addresses), padded(block)
        return self._handle.rows(block, addresses, *operands)

    def top(self) -> TopK:
        """Return each query's nearest train samples among all blocks so far."""
        top = empty(len(self._queries.vectors), self._k)
        self._handle.top(top.similarity, top.address)
        return top


def nearest_earlier(
    vectors: Float16[np.ndarray, "n d"], *, threads: int | None = None, kernel: str | None = None
) -> tuple[Float64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
    """Return every vector's highest similarity to an earlier one, and the first that has it.

    They are -inf and -1 for the first vector. `threads` and `kernel` are as in `Native`, and do not
    affect the result. The vectors are held twice. Raises InputError, with the number of the vector,
    for one too long for exact sums.
    """
    check_vectors(vectors, "vectors of a cluster")
    n = len(vectors)
    handle = Handle(vectors, (0, n), None, 0, threads, kernel)
    best = handle.rows(vectors, np.arange(n))
    return best.similarity[:, 0], best.query[:, 0]
