import numpy as np
import pytest
from clustercases import first_of_group, grid_vectors, similarities
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.deduplication import pairs, spanning
from clipaudit.deduplication.spanning import SpanningForest, spanning_forest
from clipaudit.neighbors import range_search
from clipaudit.neighbors.range_search import RangeSearch


def found(forest):
    removals = forest.removals()
    return [
        (None, None) if earlier < 0 else (similarity, earlier)
        for similarity, earlier in zip(removals.similarity, removals.earlier, strict=True)
    ]


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 2, 12, 40]),
    st.sampled_from([-np.inf, -0.25, 0.0, 0.5]),
    st.sampled_from([None, "numpy", "torch"]),
)
def test_groups_at_every_threshold_keep_their_first(seed, n, floor, backend):
    vectors = grid_vectors(np.random.default_rng(seed), n)
    forest = SpanningForest(n, floor=floor, backend=backend)

    forest.within(0, vectors)

    assert found(forest) == first_of_group(similarities(vectors), floor)


@pytest.mark.parametrize("tile", [1, 7, 512])
@pytest.mark.parametrize("waiting", [0, 10, 10**6])
def test_the_number_of_waiting_pairs_does_not_change_the_result(monkeypatch, tile, waiting):
    monkeypatch.setattr(pairs, "TILE_ROWS", tile)
    vectors = grid_vectors(np.random.default_rng(1), 60)
    forest = SpanningForest(60, waiting=waiting)

    forest.within(0, vectors[:20])
    forest.within(20, vectors[20:])
    forest.across(0, vectors[:20], [(np.arange(20, 30), vectors[20:30])])
    forest.across(0, vectors[:20], [(np.arange(30, 60), vectors[30:])])

    assert found(forest) == first_of_group(similarities(vectors))


@pytest.mark.parametrize("tile", [1, 7, 1024])
def test_tile_sizes_do_not_change_screened_results(monkeypatch, tile):
    monkeypatch.setattr(range_search, "TILE_ROWS", tile)
    vectors = grid_vectors(np.random.default_rng(2), 60)
    forest = SpanningForest(60, floor=0.25, backend="torch", waiting=0)

    forest.within(0, vectors[:30])
    forest.within(30, vectors[30:])
    forest.across(0, vectors[:30], [(np.arange(30, 60), vectors[30:])])

    assert found(forest) == first_of_group(similarities(vectors), 0.25)


@pytest.mark.parametrize(
    ("small", "floor", "asked"), [(0, 0.5, 1), (10**9, 0.5, 0), (0, -np.inf, 0)]
)
def test_many_pairs_above_a_floor_are_screened(monkeypatch, small, floor, asked):
    monkeypatch.setattr(spanning, "SMALL_FOR_TORCH", small)
    screened = []
    monkeypatch.setattr(
        range_search,
        "RangeSearch",
        lambda *_, **how: screened.append(how) or RangeSearch(*_, **how),
    )
    forest = SpanningForest(60, floor=floor, threads=1)

    forest.within(0, grid_vectors(np.random.default_rng(3), 60))

    assert screened == asked * [{"device": "cpu", "threads": 1}]


def test_the_number_of_waiting_pairs_is_bounded():
    vectors = np.tile(np.array([0.5, 0.5], dtype=np.float16), (3000, 1))
    forest = SpanningForest(3000, waiting=10_000)

    forest.within(0, vectors)

    assert forest._held <= 10_000
    assert set(found(forest)[1:]) == {(1.0, 0)}


def test_negative_and_zero_similarities_also_connect():
    edges = (np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([-0.5, 0.0, -0.25]))

    forest = spanning_forest(3, edges)

    assert sorted(forest[2].tolist()) == [-0.25, 0.0]


def test_without_pairs_no_sample_is_removed():
    forest = SpanningForest(3, floor=0.5)

    forest.within(0, np.eye(3, dtype=np.float16))

    assert found(forest) == [(None, None)] * 3
