"""Hard inputs for a nearest-neighbour search, with brute-force results."""

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from plaincosines import plain_cosines

from clipaudit.neighbors.interface import Queries

FIELDS = ("similarity", "query", "excess_similarity", "excess_query")


@st.composite
def searches(draw):
    """Draw the input of `build`: ties, copies, zeros, empty sets, odd norms."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    d = draw(st.sampled_from([1, 7, 64, 640]))
    n = draw(st.sampled_from([300, 200, 60, 5, 1, 0]))
    sizes = draw(st.lists(st.sampled_from([150, 70, 70, 3, 1, 0]), max_size=3))
    pool = _vectors(rng, draw(st.sampled_from(["unit", "signs", "cone", "near", "odd"])), d)
    train = pool[rng.integers(0, len(pool), n)]
    vectors = pool[rng.integers(0, len(pool), sum(sizes))]
    gaps = _gaps(rng, draw(st.sampled_from(["none", "near", "low", "free"])), vectors, pool)
    addresses = [np.sort(rng.permutation(4 * size)[:size]) for size in sizes]
    starts = (0, *(int(end) for end in np.cumsum(sizes)))
    joined = np.concatenate([np.zeros(0, np.int64), *addresses]).astype(np.int64)
    order = np.sort if draw(st.booleans()) else np.asarray  # rising or in any order
    train_addresses = order(rng.permutation(3 * n)[:n]).astype(np.int64)
    k = draw(st.sampled_from([1, 2, 7, 40, 500]))
    return (vectors, starts, joined, gaps), k, train_addresses, train


def build(case):
    """Return the queries, k, addresses and train rows of a drawn case.

    Not done while drawing: the type checker uses `random`, which Hypothesis forbids there.
    """
    fields, k, addresses, train = case
    return Queries(*fields), k, addresses, train


def _vectors(rng, kind, d):
    few = int(rng.choice([400, 400, 9, 1]))  # few: many copies
    vectors = rng.standard_normal((few, d))
    if kind == "signs":
        vectors = np.sign(vectors)  # exact ties, unlike directions
    if kind == "cone":
        vectors = np.abs(vectors)  # similarities as close together as CLIP's
    if kind == "near":  # clusters within the bounds of the low precisions
        vectors = vectors[rng.integers(0, -(-few // 20), few)] + 2e-3 * vectors
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if kind == "odd":  # zero rows, norms off by 1e-3 and up to 3, float16 subnormals
        vectors *= rng.choice([0.0, 0.999, 1.001, 3.0, 1e-5], size=(few, 1))
    return vectors.astype(np.float16)


def _gaps(rng, kind, vectors, pool):
    if kind == "none":
        return None
    some = pool[rng.integers(0, len(pool), 20)]
    gaps = plain_cosines(vectors, some).max(axis=1)  # ties with these
    if kind == "low":
        gaps = gaps / 2 - 0.25
    if kind == "free":
        gaps[rng.random(len(gaps)) < 0.2] = -np.inf
    return gaps


def brute_force(queries, k, addresses, train):
    """Return a `RowBest`'s four arrays and a `TopK`'s two, by loops over all pairs."""
    similarity = plain_cosines(train, queries.vectors)
    rows = [_row(queries, row) for row in similarity]
    shape = (len(train), len(queries.starts) - 1)
    best = [np.reshape([row[field] for row in rows], shape) for field in range(4)]
    top = [np.full((len(queries.vectors), k), fill) for fill in (-np.inf, -1)]
    for query, column in enumerate(similarity.T):
        order = sorted(range(len(train)), key=lambda row: (-column[row], addresses[row]))[:k]
        top[0][query, : len(order)] = column[order]
        top[1][query, : len(order)] = addresses[order]
    kinds = [np.float64, np.int64] * 3
    return [array.astype(kind) for array, kind in zip(best + top, kinds, strict=True)]


def _row(queries, similarity):
    found = ([], [], [], [])
    for start, stop in queries.sets():
        every = range(start, stop)
        best = min(every, key=lambda t: (-similarity[t], t), default=-1)
        crossed = -1
        if queries.gaps is not None:
            excess = similarity - queries.gaps
            beyond = (t for t in every if similarity[t] > queries.gaps[t])
            crossed = min(beyond, key=lambda t: (-excess[t], t), default=-1)
        values = [similarity[t] if t >= 0 else -np.inf for t in (best, crossed)]
        for column, value in zip(found, (values[0], best, values[1], crossed), strict=True):
            column.append(value)
    return found


def run(search, addresses, train, cuts=()):
    """Return the same six arrays from a search that gets the rows in blocks cut at `cuts`."""
    edges = [0, *sorted(cuts), len(train)]
    blocks = [slice(*edge) for edge in pairwise(edges)]
    found = [search.rows(addresses[block], train[block]) for block in blocks]
    best = [np.concatenate([getattr(rows, field) for rows in found]) for field in FIELDS]
    return [*best, search.top().similarity, search.top().address]


def assert_same_bytes(found, expected):
    """Compare all bits, so that -0.0 differs from 0.0."""
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(left, right)
        assert (left.dtype, left.tobytes()) == (right.dtype, right.tobytes())
