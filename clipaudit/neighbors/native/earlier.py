"""Each vector's most similar earlier one, by the native library: half of a square of pairs."""

import numpy as np
from jaxtyping import Float16, Float64, Int64

from clipaudit.neighbors.interface import check_vectors
from clipaudit.neighbors.native.handle import Handle


def nearest_earlier(
    vectors: Float16[np.ndarray, "n d"], *, threads: int | None = None, kernel: str | None = None
) -> tuple[Float64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
    """Return of every vector the highest similarity to one before it, and the first that has it.

    -inf and -1 for the first of all. `threads` and `kernel` are those of `search.Native`; neither
    shows. The vectors are held twice. Vectors too long for exact sums are refused, and named by
    their number.
    """
    check_vectors(vectors, "vectors of a cluster")
    n = len(vectors)
    handle = Handle(vectors, (0, n), None, 0, threads, kernel)
    best = handle.rows(vectors, np.arange(n))
    return best.similarity[:, 0], best.query[:, 0]
