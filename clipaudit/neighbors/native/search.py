"""The search by the native library: a `Search` whose every decision is that of the reference."""

import ctypes
import os

import numpy as np
from jaxtyping import Float16, Int64

from clipaudit.errors import ConfigError, StepError
from clipaudit.neighbors.interface import (
    NORM_LIMIT,
    Queries,
    RowBest,
    TopK,
    check_norms,
    check_vectors,
    vector_norms,
)
from clipaudit.neighbors.merging import empty
from clipaudit.neighbors.native.build import LIBRARY
from clipaudit.neighbors.native.library import find_library

_MULTIPLE = 32  # of the dimension, in kernel.h
_CERTAIN = NORM_LIMIT * (1 - 1e-4)  # norms below are within the limit however they are summed
_TOO_LONG, _BOUND_BROKEN = 1, 2  # Outcome in search.h


class Native:
    """A `Search` on x86 processors; memory grows with queries times k, and rows of a block."""

    def __init__(
        self, queries: Queries, k: int, *, threads: int | None = None, kernel: str | None = None
    ) -> None:
        """Start with no train samples.

        Only `queries` and `k` show in the output. `kernel` is one of `library.kernels`; None takes
        the quickest. `threads` None takes all processors that the process may run on.
        """
        empty(0, k)  # refuses a k below 1
        library = find_library(LIBRARY)
        if library is None:
            raise ConfigError("the native search was not compiled here; use the torch backend")
        self._library = library
        self._queries = queries
        self._k = k
        self._threads = threads or len(os.sched_getaffinity(0))
        self._vectors = _padded(queries.vectors)  # it and what follows must outlive the handle
        self._starts = np.array(queries.starts, dtype=np.int64)
        self._gaps = None if queries.gaps is None else np.ascontiguousarray(queries.gaps)
        name = kernel.encode() if kernel else library.neighbors_kernels().split()[0]
        self._handle = library.neighbors_open(
            name,
            _at(self._vectors),
            *self._vectors.shape,
            _at(self._starts),
            len(self._starts) - 1,
            None if self._gaps is None else _at(self._gaps),
            k,
        )
        if self._handle is None:
            raise ConfigError(
                f"the native search with kernel {name.decode()!r} did not start: it is not one of "
                f"{library.neighbors_kernels().decode()}, or memory for {len(self._vectors)} "
                f"queries and k = {k} is short"
            )

    def __del__(self) -> None:
        """Give the memory back."""
        if getattr(self, "_handle", None):
            self._library.neighbors_close(self._handle)

    def rows(
        self, addresses: Int64[np.ndarray, " n"], block: Float16[np.ndarray, "n d"]
    ) -> RowBest:
        """Return the block's nearest queries, and remember the block for `top`."""
        check_vectors(block, "train block", self._queries.dimension)
        best = _nobody(len(block), len(self._starts) - 1)
        outcome = self._search(addresses, block, _CERTAIN, best)
        if outcome == _TOO_LONG:
            check_norms(vector_norms(block), addresses, "train")
            outcome = self._search(addresses, block, np.inf, best)
        if outcome == _BOUND_BROKEN:
            raise StepError(
                "native search: a low-precision similarity was wrong by "
                f"{self._library.neighbors_worst(self._handle):.3g}, but the bound is "
                f"{self._library.neighbors_bound(self._handle):.3g}; this processor breaks the "
                "bound, so use the numpy backend and report this"
            )
        return best

    def top(self) -> TopK:
        """Return each query's nearest train samples among all blocks so far."""
        top = empty(len(self._vectors), self._k)
        self._library.neighbors_top(self._handle, _at(top.similarity), _at(top.address))
        return top

    def _search(
        self,
        addresses: Int64[np.ndarray, " n"],
        block: Float16[np.ndarray, "n d"],
        limit: float,
        best: RowBest,
    ) -> int:
        addresses, block = np.ascontiguousarray(addresses), _padded(block)
        outcome: int = self._library.neighbors_rows(
            self._handle,
            self._threads,
            _at(addresses),
            _at(block),
            len(block),
            limit,
            _at(best.similarity),
            _at(best.query),
            _at(best.excess_similarity),
            _at(best.excess_query),
        )
        if outcome < 0:
            raise StepError(
                f"native search: no memory or no threads ({self._threads}) for a block of "
                f"{len(block)} train samples; give the job more memory or fewer threads"
            )
        return outcome


def _padded(vectors: Float16[np.ndarray, "n d"]) -> Float16[np.ndarray, "n p"]:
    """Return the vectors with zeros up to a multiple of what kernels take at once."""
    n, d = vectors.shape
    if d % _MULTIPLE == 0:
        return np.ascontiguousarray(vectors)
    padded = np.zeros((n, -(-d // _MULTIPLE) * _MULTIPLE), dtype=np.float16)
    padded[:, :d] = vectors
    return padded


def _nobody(n: int, sets: int) -> RowBest:
    similarity, beyond = np.full((2, n, sets), -np.inf)
    query, crossed = np.full((2, n, sets), -1, dtype=np.int64)
    return RowBest(similarity, query, beyond, crossed)


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)
