"""Merges lists of neighbours, in any order, to the k best; ties go to the lowest address."""

from collections.abc import Iterable
from functools import reduce

import numpy as np
from jaxtyping import Float64, Int64

from clipaudit.errors import ConfigError, InputError
from clipaudit.neighbors.interface import TopK


def merge(parts: Iterable[TopK], k: int) -> TopK:
    """Return each query's k nearest train samples over all parts.

    The parts list the same queries in the same order, k or more samples each (padded if there are
    fewer). Neither their order nor any earlier merging of some of them changes the result, if no
    train sample is in two parts. Parts are read once, and held two at a time.

    >>> near = TopK(np.array([[0.9, 0.5]]), np.array([[4, 7]]))
    >>> far = TopK(np.array([[0.5, -np.inf]]), np.array([[1, -1]]))
    >>> merge([near, far], k=2).address.tolist()
    [[4, 1]]
    """
    iterator = iter(parts)
    first = next(iterator, None)
    if first is None:
        raise InputError("merge: no part was given, so the queries are unknown; give one or more")
    return reduce(lambda left, right: _merge_two(left, right, k), iterator, _prefix(first, k))


def select(
    similarity: Float64[np.ndarray, "q m"], address: Int64[np.ndarray, "q m"], k: int
) -> TopK:
    """Return the first k of m >= k candidates by falling similarity, then rising address."""
    order = np.lexsort((address, -similarity), axis=1)[:, :k]
    return TopK(
        np.take_along_axis(similarity, order, axis=1), np.take_along_axis(address, order, axis=1)
    )


def empty(q: int, k: int) -> TopK:
    """Return the state before any train sample: no neighbours for each of q queries."""
    if k < 1:
        raise ConfigError(f"k is {k}; set at least 1 neighbour of each test sample")
    return TopK(np.full((q, k), -np.inf), np.full((q, k), -1, dtype=np.int64))


def _merge_two(left: TopK, right: TopK, k: int) -> TopK:
    right = _prefix(right, k)
    if left.address.shape != right.address.shape:
        raise InputError(
            f"merge: one part has {len(left.address)} queries and another {len(right.address)}; "
            "merge parts of one search over the same test sets"
        )
    return select(
        np.concatenate([left.similarity, right.similarity], axis=1),
        np.concatenate([left.address, right.address], axis=1),
        k,
    )


def _prefix(part: TopK, k: int) -> TopK:
    if part.address.shape[1] < k:
        raise InputError(
            f"merge: a part lists {part.address.shape[1]} neighbours per query, fewer than "
            f"k = {k}; search every part with at least the k of the merge"
        )
    return TopK(part.similarity[:, :k], part.address[:, :k])
