"""All pairs above a floor: the same as from every similarity in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines

from clipaudit.neighbors import range_search
from clipaudit.neighbors.range_search import RangeSearch


def brute_force(floor, left, right):
    exact = plain_cosines(left, right)
    rows, columns = np.nonzero(exact > floor)
    return rows, columns, exact[rows, columns]


def pairs_above(floor, left, right, **how):
    """Return what is found in all tiles, in the order of `brute_force`."""
    met = np.full(len(right), len(left))
    found = [*RangeSearch(left, **how).pairs(right, met, lambda *_: floor), ([], [], [])]
    rows, columns, similarity = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((columns, rows))
    return rows[order], columns[order], similarity[order]


def unit_vectors(rng, n, d=64):
    vectors = rng.standard_normal((n, d), dtype=np.float32)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(0, 70),
    st.integers(0, 70),
    st.floats(-0.5, 0.9),
)
def test_pairs_equal_those_of_brute_force(seed, n, m, floor):
    rng = np.random.default_rng(seed)
    left, right = unit_vectors(rng, n), unit_vectors(rng, m)

    assert_same(pairs_above(floor, left, right, threads=1), brute_force(floor, left, right))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.data())
def test_a_similarity_equal_to_the_floor_is_not_above_it(seed, data):
    rng = np.random.default_rng(seed)
    left, right = unit_vectors(rng, 40), unit_vectors(rng, 30)
    exact = plain_cosines(left, right)
    floor = float(data.draw(st.sampled_from(np.sort(exact, axis=None)[-200:].tolist())))

    assert_same(pairs_above(floor, left, right, threads=1), brute_force(floor, left, right))


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("tile", [7, 1024])
def test_tiles_and_pairs_scored_one_by_one_do_not_change_the_result(monkeypatch, share, tile):
    rng = np.random.default_rng(1)
    left, right = unit_vectors(rng, 90), unit_vectors(rng, 60)

    monkeypatch.setattr(range_search, "CROWDED", share)
    monkeypatch.setattr(range_search, "TILE_ROWS", tile)

    assert_same(pairs_above(0.1, left, right), brute_force(0.1, left, right))


def test_a_zero_is_not_above_minus_zero():
    left, right = np.float16([[1, 0], [-1, 0]]), np.float16([[0, -1], [1, 0]])

    assert_same(pairs_above(-0.0, left, right), ([0], [1], [1.0]))


def test_tiles_without_pairs_to_compare_are_skipped(monkeypatch):
    vectors = unit_vectors(np.random.default_rng(3), 40)
    monkeypatch.setattr(range_search, "TILE_ROWS", 10)

    tiles = list(RangeSearch(vectors).pairs(vectors, np.arange(40), lambda *_: -1.0))

    assert len(tiles) == 4 + 3 + 2 + 1
    assert {*zip(*np.tril_indices(40, -1), strict=True)} <= {
        (right, left)
        for rows, columns, _ in tiles
        for left, right in zip(rows, columns, strict=True)
    }


@pytest.mark.gpu
def test_a_gpu_finds_the_same_pairs():
    rng = np.random.default_rng(2)
    left, right = unit_vectors(rng, 3000), unit_vectors(rng, 2000)

    assert_same(pairs_above(0.3, left, right, device="cuda"), brute_force(0.3, left, right))
