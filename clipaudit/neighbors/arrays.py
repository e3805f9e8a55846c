"""Finds exact nearest neighbours of two arrays, without files."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float16, Float64, Int64

from clipaudit.errors import InputError
from clipaudit.neighbors.backends import quicker_backend, search
from clipaudit.neighbors.interface import Queries


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The k rows nearest to each query, and the query nearest to each row, by cosine similarity.

    `rows` are sorted by falling similarity, the lower row first in a tie; with fewer rows than k
    the rest is -1, of similarity -inf. `query` is the lowest in a tie, -1 and -inf without queries.
    """

    rows: Int64[np.ndarray, "q k"]
    similarity: Float64[np.ndarray, "q k"]
    query: Int64[np.ndarray, " n"]
    query_similarity: Float64[np.ndarray, " n"]


def nearest(
    queries: Float[np.ndarray, "q d"], rows: Float[np.ndarray, "n e"], *, k: int = 1
) -> Neighbors:
    """Return the nearest neighbours both ways, comparing each pair.

    Vectors may have any length except 0: they are scaled to 1 and rounded to float16, as the
    workflow stores them, and compared exactly, so that equal similarities are true ties. Raise
    InputError for vectors of different dimensions, of length 0, or with numbers that are not
    finite.

    >>> found = nearest(np.eye(2), np.array([[1.0, 0.1], [0.0, 3.0], [1.0, 0.0]]), k=2)
    >>> found.rows.tolist(), found.query.tolist()
    ([[2, 0], [1, 0]], [0, 1, 0])
    """
    asked, others = unit_halves(queries, "queries"), unit_halves(rows, "rows")
    backend = quicker_backend(len(others), *asked.shape)
    engine = search(Queries(asked, (0, len(asked)), np.arange(len(asked))), k=k, backend=backend)
    best = engine.rows(np.arange(len(others)), others)
    top = engine.top()
    return Neighbors(top.address, top.similarity, best.query[:, 0], best.similarity[:, 0])


def unit_halves(vectors: Float[np.ndarray, "n d"], name: str) -> Float16[np.ndarray, "n d"]:
    """Return vectors scaled to length 1 in float16; raise InputError for length 0."""
    wide: np.ndarray = np.asarray(vectors, np.float32)
    if wide.ndim != 2:
        raise InputError(f"{name}: an array of shape {wide.shape}; give one vector per row")
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(wrong):
        raise InputError(
            f"{name}: row {wrong[0]} has the length {lengths[wrong[0], 0]}, so no direction; leave "
            "it out"
        )
    halves: np.ndarray = (wide / lengths).astype(np.float16)
    return halves
