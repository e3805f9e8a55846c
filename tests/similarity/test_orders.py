import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordercases import SETS, addresses, base, duplicates, similarities

from clipaudit.errors import InputError
from clipaudit.similarity.orders import (
    REPEATS_NONE,
    Order,
    falling,
    order_samples,
    places,
)


def sequence(order, start, embedded):
    """The rows of shard 0 in the order."""
    samples = order_samples(order, start, embedded)
    return samples.addresses[np.lexsort((samples.addresses, samples.keys))].tolist()


def test_no_two_samples_share_a_place():
    row = np.arange(100_000, dtype=np.int32)

    first = places(np.zeros_like(row), row, seed=3)
    second = places(np.ones_like(row), row, seed=3)

    assert len(np.unique(np.concatenate([first, second]))) == 200_000


def test_another_random_seed_gives_another_order():
    row = np.arange(50, dtype=np.int32)
    orders = [np.argsort(places(np.zeros_like(row), row, seed=seed)) for seed in (0, 1)]

    assert not np.array_equal(*orders)


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=2))
def test_keys_rise_as_scores_fall(scores):
    first, second = falling(np.array(scores)).astype(object)

    assert (first < second, first == second) == (scores[0] > scores[1], scores[0] == scores[1])


@pytest.mark.parametrize(
    ("test_sets", "expected"), [(["val"], [1, 2, 0]), (["sketch"], [0, 2, 1]), (SETS, [1, 0, 2])]
)
def test_samples_are_ordered_by_similarity_to_their_nearest_test_sample(test_sets, expected):
    found = similarities({(0, 0): (0.1, 0.8), (0, 1): (0.9, 0.2), (0, 2): (0.5, 0.3)})

    start = base([(0, 0), (0, 1), (0, 2)])

    assert sequence(Order("near", test_sets), start, found) == expected
    assert sequence(Order("far", test_sets), start, found) == expected


def test_ties_are_ordered_by_address_and_zeros_of_either_sign_tie():
    found = similarities({(0, 0): (-0.0,), (0, 1): (0.0,), (0, 2): (-0.0,)}, ["val"])

    assert sequence(Order("near", ["val"]), base([(0, 0), (0, 1), (0, 2)]), found) == [0, 1, 2]


def test_the_first_of_equally_near_test_sets_is_named():
    found = similarities({(0, 0): (0.5, 0.5), (0, 1): (0.25, 0.5)})

    samples = order_samples(Order("far", SETS[::-1]), base([(0, 0), (0, 1)]), found)

    assert found["testset"].take(samples.source).to_pylist() == ["sketch", "sketch"]


def test_only_kept_and_embedded_samples_are_eligible():
    start = base([(0, 0), (0, 1), (0, 2)], dropped=[(0, 1)])
    found = similarities({(0, 0): (0.5, 0.5), (0, 1): (0.5, 0.5), (0, 9): (0.5, 0.5)})

    for order in (Order("near", ["val"]), Order("far", SETS), Order("rand")):
        assert order_samples(order, start, found).addresses.tolist() == [0]


def test_similarities_may_be_in_any_order():
    rng = np.random.default_rng(0)
    scores = {(0, row): tuple(rng.integers(0, 9, 2) / 8) for row in range(50)}
    found, start = similarities(scores), base(list(scores))

    mixed = found.take(pa.array(rng.permutation(len(found))))

    expected = sequence(Order("far", SETS), start, found)
    assert sequence(Order("far", SETS), start, mixed) == expected


def test_the_random_order_starts_from_the_last_place():
    row = np.arange(20, dtype=np.int32)
    start = base([(0, each) for each in row])

    found = sequence(
        Order("rand", seed=4), start, addresses([(0, each // 2) for each in range(40)])
    )

    assert found == np.argsort(places(np.zeros_like(row), row, seed=4))[::-1].tolist()


def test_samples_that_are_not_duplicates_come_last():
    found = duplicates({(0, 0): None, (0, 1): -0.5, (0, 2): 0.9, (0, 3): None})
    start = base([(0, row) for row in range(4)])

    samples = order_samples(Order("semdedup"), start, found)

    assert sequence(Order("semdedup"), start, found) == [2, 1, 0, 3]
    assert (samples.keys == REPEATS_NONE).tolist() == [True, False, False, True]


@pytest.mark.parametrize("scores", [{(0, 0): (0.5,)}, {(0, 0): (0.5,), (0, 1): (0.5,)}])
def test_similarities_with_a_missing_test_set_are_refused(scores):
    found = pa.concat_tables(
        [similarities({(0, 0): (0.5,), (0, 1): (0.5,)}, ["val"]), similarities(scores, ["a"])]
    ).slice(0, 3)

    with pytest.raises(InputError, match="test set a: similarities of 1 samples, but 2 were"):
        order_samples(Order("far", ["val", "a"]), base([(0, 0)]), found)


@pytest.mark.parametrize("order", [Order("near", SETS), Order("rand"), Order("semdedup")])
def test_a_part_without_embedded_samples_gives_an_empty_order(order):
    nothing = duplicates({}) if order.kind == "semdedup" else similarities({})

    assert len(order_samples(order, base([(0, 0)]), nothing).keys) == 0
    assert len(order_samples(order, base([]), nothing).keys) == 0
