"""Finds exact nearest neighbours of two arrays, without files."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from jaxtyping import Float, Float16, Float64, Int64

from clipaudit.errors import InputError
from clipaudit.neighbors.backends import quicker_backend, search
from clipaudit.neighbors.interface import Queries

_REAL = "biufO"  # NumPy's kinds of types; objects may be numbers


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
    finite; for complex and masked arrays; and unless k is a whole number, 1 or more.

    >>> found = nearest(np.eye(2), np.array([[1.0, 0.1], [0.0, 3.0], [1.0, 0.0]]), k=2)
    >>> found.rows.tolist(), found.query.tolist()
    ([[2, 0], [1, 0]], [0, 1, 0])
    """
    refuse_count(k)
    return nearest_halves(*unit_pair(queries, rows, names=("queries", "rows")), k=k)


def refuse_count(k: object) -> None:
    """Raise InputError unless `k` can be a number of neighbours."""
    if not isinstance(k, Integral) or int(k) < 1:
        raise InputError(f"k is {k!r}; give a whole number of neighbours, 1 or more")


def nearest_halves(
    queries: Float16[np.ndarray, "q d"], rows: Float16[np.ndarray, "n d"], *, k: int
) -> Neighbors:
    """Return the nearest neighbours both ways of vectors that `unit_halves` returned."""
    backend = quicker_backend(len(rows), *queries.shape)
    engine = search(
        Queries(queries, (0, len(queries)), np.arange(len(queries))), k=k, backend=backend
    )
    best = engine.rows(np.arange(len(rows)), rows)
    top = engine.top()
    return Neighbors(top.address, top.similarity, best.query[:, 0], best.similarity[:, 0])


def unit_pair(
    queries: Float[np.ndarray, "q d"], rows: Float[np.ndarray, "n e"], *, names: tuple[str, str]
) -> tuple[Float16[np.ndarray, "q d"], Float16[np.ndarray, "n d"]]:
    """Return both by `unit_halves`; raise InputError, by `names`, if their dimensions differ."""
    asked, others = unit_halves(queries, names[0]), unit_halves(rows, names[1])
    if asked.shape[1] != others.shape[1]:
        raise InputError(
            f"{names[1]}: vectors of dimension {others.shape[1]} against {names[0]} of dimension "
            f"{asked.shape[1]}; embed both with the same encoder"
        )
    return asked, others


def unit_halves(vectors: Float[np.ndarray, "n d"], name: str) -> Float16[np.ndarray, "n d"]:
    """Return vectors scaled to length 1 in float16; raise InputError for length 0."""
    wide = _real_numbers(vectors, name)
    if wide.ndim != 2:
        raise InputError(f"{name}: an array of shape {wide.shape}; give one vector per row")
    # float32 cannot hold the squares of very long or short vectors; powers of two change no half
    low, high = (bound(axis=1, keepdims=True, initial=0) for bound in (wide.min, wide.max))
    _, exponents = np.frexp(np.maximum(-low, high))
    scaled = np.ldexp(wide, -exponents).astype(np.float32, copy=False)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(wrong):
        raise InputError(
            f"{name}: row {wrong[0]} has the length {lengths[wrong[0], 0]}, so no direction; leave "
            "it out"
        )
    halves: np.ndarray = (scaled / lengths).astype(np.float16)
    return halves


def _real_numbers(vectors: object, name: str) -> np.ndarray:
    """Return an array as float32 or wider; raise InputError unless it has real numbers."""
    if isinstance(vectors, np.ma.MaskedArray):
        raise InputError(
            f"{name}: a masked array, and a vector needs all its numbers; leave out rows with "
            "masked numbers, and give the rest as a plain array (`.data`)"
        )
    try:
        found = np.asarray(vectors)
        if found.dtype.kind not in _REAL:
            raise TypeError(f"numbers of type {found.dtype}")
        objects = found.dtype.kind == "O"
        kind = np.float64 if objects else np.promote_types(found.dtype, np.float32)
        return found.astype(kind, copy=False)
    except (TypeError, ValueError, RuntimeError) as error:  # NumPy's, and those of torch's tensors
        raise InputError(
            f"{name}: not an array of real numbers ({error}); give rows of equally many numbers, "
            "a torch tensor as `tensor.detach().float().cpu().numpy()`"
        ) from error
