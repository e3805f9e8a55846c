"""Applies the gap rule of the similarity audit to arrays, without files."""

import numpy as np
from jaxtyping import Bool, Float

from clipaudit.neighbors.arrays import nearest_halves, unit_pair
from clipaudit.neighbors.backends import quicker_backend, search
from clipaudit.neighbors.interface import Queries


def kept_by_gap(
    large: Float[np.ndarray, "n d"],
    small: Float[np.ndarray, "m d"],
    tests: Float[np.ndarray, "t d"],
) -> Bool[np.ndarray, " n"]:
    """Return which samples of the large set pruning to the gap of a test set keeps.

    A sample is removed if it is closer to some test image than any sample of the small set; ties
    are kept (Mayilvahanan et al., ICLR 2024, Sec. 4.4: https://arxiv.org/abs/2310.09562). The
    embeddings are of one model, as for `nearest`. Without a small set every sample is removed,
    without a test set none.

    >>> large = np.array([[1.0, 0.05], [1.0, 0.4], [0.0, 1.0]])
    >>> kept_by_gap(large, small=np.array([[1.0, 0.2]]), tests=np.array([[1.0, 0.0]])).tolist()
    [False, True, True]
    """
    queries, rows = unit_pair(tests, large, names=("tests", "large"))
    gaps = nearest_halves(*unit_pair(tests, small, names=("tests", "small")), k=1).similarity[:, 0]
    asked = Queries(queries, (0, len(queries)), np.arange(len(queries)), gaps)
    engine = search(asked, k=1, backend=quicker_backend(len(rows), *queries.shape))
    crossed: Bool[np.ndarray, " n"] = (
        engine.rows(np.arange(len(rows)), rows).excess_query[:, 0] >= 0
    )
    return ~crossed
