"""Wraps a search of the native library, and turns its failures into our errors."""

import ctypes
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.errors import ConfigError, StepError
from clipaudit.neighbors.interface import NORM_LIMIT, RowBest, check_norms, vector_norms
from clipaudit.neighbors.native.build import LIBRARY
from clipaudit.neighbors.native.library import find_library
from clipaudit.steps.granted import granted_cores

MULTIPLE = 32  # of the dimension, in kernel.h
CERTAIN = NORM_LIMIT * (1 - 1e-4)  # norms below it are within the limit in any order of summing
_TOO_LONG, _BOUND_BROKEN = 1, 2  # Outcome in search.h


class Handle:
    """The queries of a search, and the library's memory for it, freed together."""

    def __init__(
        self,
        vectors: Float16[np.ndarray, "q d"],
        starts: Sequence[int],
        gaps: Float64[np.ndarray, " q"] | None,
        k: int,
        threads: int | None,
        kernel: str | None,
    ) -> None:
        """Open a search; `kernel` and `threads` None: the fastest, and all that are granted."""
        library = find_library(LIBRARY)
        if library is None:
            raise ConfigError("the native search was not compiled here; use the torch backend")
        self.library = library
        self._threads = threads or granted_cores()
        self._vectors = padded(vectors)  # these arrays must outlive the search
        self._starts = np.array(starts, dtype=np.int64)
        self._gaps = None if gaps is None else np.ascontiguousarray(gaps)
        name = kernel.encode() if kernel else library.neighbors_kernels().split()[0]
        self.search = library.neighbors_open(
            name,
            _at(self._vectors),
            *self._vectors.shape,
            _at(self._starts),
            len(starts) - 1,
            None if self._gaps is None else _at(self._gaps),
            k,
        )
        if self.search is None:
            raise ConfigError(
                f"the native search with kernel {name.decode()!r} did not start: it is not one of "
                f"{library.neighbors_kernels().decode()}, or memory for {len(vectors)} "
                f"queries and k = {k} is short"
            )

    def __del__(self) -> None:
        """Free the memory."""
        if getattr(self, "search", None):
            self.library.neighbors_close(self.search)

    def rows(
        self,
        vectors: Float16[np.ndarray, "n d"],
        addresses: Int64[np.ndarray, " n"],
        *operands: np.ndarray,
    ) -> RowBest:
        """Return the answers for some rows; raise InputError if one is too long for exact sums.

        `operands` are the addresses and padded vectors. Without them, for a search of one set that
        keeps no rows, every query is a row that is compared with the queries before it.
        """
        best = self._rows(len(vectors), CERTAIN, *operands)
        if best is None:
            check_norms(vector_norms(vectors), addresses, "train")
            best = self._rows(len(vectors), np.inf, *operands)
        assert best is not None
        return best

    def _rows(self, n: int, limit: float, *operands: np.ndarray) -> RowBest | None:
        """Return the answers for n rows; None, without effect, if one is longer than `limit`."""
        sets = len(self._starts) - 1
        similarity, beyond = np.full((2, n, sets), -np.inf)
        query, crossed = np.full((2, n, sets), -1, dtype=np.int64)
        answers = [_at(array) for array in (similarity, query, beyond, crossed)]
        if operands:
            inputs = [*map(_at, operands), n, limit]
            outcome = self.library.neighbors_rows(self.search, self._threads, *inputs, *answers)
        else:
            outcome = self.library.neighbors_earlier(self.search, self._threads, limit, *answers)
        if outcome == _TOO_LONG:
            return None
        self._check(outcome, n)
        return RowBest(similarity, query, beyond, crossed)

    def top(self, similarity: np.ndarray, address: np.ndarray) -> None:
        """Write each query's nearest rows so far; leave queries without any unchanged."""
        self.library.neighbors_top(self.search, _at(similarity), _at(address))

    def _check(self, outcome: int, n: int) -> None:
        if outcome == _BOUND_BROKEN:
            raise StepError(
                "native search: a low-precision similarity was wrong by "
                f"{self.library.neighbors_worst(self.search):.3g}, but the bound is "
                f"{self.library.neighbors_bound(self.search):.3g}; this processor breaks the "
                "bound, so use the numpy backend and report this"
            )
        if outcome < 0:
            raise StepError(
                f"native search: no memory or no threads ({self._threads}) for a block of "
                f"{n} train samples; give the job more memory or fewer threads"
            )


def padded(vectors: Float16[np.ndarray, "n d"]) -> Float16[np.ndarray, "n p"]:
    """Return the vectors padded with zeros to a multiple of the kernels' step."""
    n, d = vectors.shape
    if d % MULTIPLE == 0:
        return np.ascontiguousarray(vectors)
    wider = np.zeros((n, -(-d // MULTIPLE) * MULTIPLE), dtype=np.float16)
    wider[:, :d] = vectors
    return wider


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)
