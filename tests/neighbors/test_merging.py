import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.errors import InputError
from clipaudit.neighbors.backends import search
from clipaudit.neighbors.interface import Queries, TopK
from clipaudit.neighbors.merging import merge


def top_of(queries, k, addresses, train):
    pass_ = search(queries, k=k, backend="numpy")
    pass_.rows(addresses, train)
    return pass_.top()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 9), st.randoms(use_true_random=False))
def test_merged_parts_equal_the_whole_in_any_order_and_grouping(seed, k, random):
    rng = np.random.default_rng(seed)
    vectors = rng.choice(np.array([-0.5, 0.5], np.float16), size=(30, 4))  # many ties
    queries = Queries(vectors[:6], (0, 6), np.arange(6))
    addresses, train = rng.permutation(24), vectors[6:]
    shares = np.sort(rng.integers(0, 25, 3))  # some parts may be empty
    parts = [
        top_of(queries, k, addresses[some], train[some]) for some in np.split(np.arange(24), shares)
    ]
    random.shuffle(parts)

    left = merge([merge(parts[:2], k), *parts[2:]], k)
    right = merge([parts[0], merge(parts[1:], k)], k)

    whole = top_of(queries, k, addresses, train)
    for merged in (left, right):
        np.testing.assert_array_equal(merged.similarity, whole.similarity)
        np.testing.assert_array_equal(merged.address, whole.address)


def test_fewer_neighbours_than_requested_are_refused():
    part = TopK(np.zeros((3, 2)), np.zeros((3, 2), np.int64))

    with pytest.raises(InputError, match="2 neighbours per query, fewer than k = 5"):
        merge([part], 5)


def test_parts_with_different_queries_are_refused():
    parts = [TopK(np.zeros((q, 1)), np.zeros((q, 1), np.int64)) for q in (3, 4)]

    with pytest.raises(InputError, match="3 queries and another 4"):
        merge(parts, 1)


def test_an_empty_list_of_parts_is_refused():
    with pytest.raises(InputError, match="no part"):
        merge([], 1)
