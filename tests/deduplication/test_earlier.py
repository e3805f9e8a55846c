import numpy as np
import pytest
from clustercases import grid_vectors, nearest_earlier, similarities

from clipaudit.deduplication.earlier import NearestEarlier


@pytest.mark.parametrize("backend", ["numpy", "torch", "native", None])
def test_the_earliest_of_equals_wins_in_any_order_of_calls(backend):
    vectors = grid_vectors(np.random.default_rng(2), 60)
    nearest = NearestEarlier(60, backend=backend)

    nearest.within(30, vectors[30:])
    nearest.across(10, vectors[10:30], [(np.arange(30, 60), vectors[30:])])
    nearest.across(
        0, vectors[:10], [(np.arange(50, 60), vectors[50:]), (np.arange(10, 50), vectors[10:50])]
    )
    nearest.within(10, vectors[10:30])
    nearest.within(0, vectors[:10])

    found = nearest.removals()
    assert (found.similarity[0], found.earlier[0]) == (-np.inf, -1)
    pairs = list(zip(found.similarity, found.earlier, strict=True))
    assert pairs[1:] == nearest_earlier(similarities(vectors))[1:]


@pytest.mark.parametrize(
    ("vectors", "backend"), [(20, "numpy"), (300, "torch"), (300, "native"), (300, None)]
)
def test_all_backends_give_equal_results_within_a_block(vectors, backend):
    some = grid_vectors(np.random.default_rng(3), vectors)
    nearest = NearestEarlier(vectors, backend=backend, block_rows=7)

    nearest.within(0, some)

    found = nearest.removals()
    pairs = list(zip(found.similarity, found.earlier, strict=True))
    assert pairs[1:] == nearest_earlier(similarities(some))[1:]
