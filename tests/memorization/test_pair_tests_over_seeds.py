import pyarrow as pa
import pytest

from clipaudit.memorization.pair_tests import PAIR_TESTS
from clipaudit.memorization.pair_tests_over_seeds import (
    PAIR_TESTS_OVER_SEEDS,
    pair_tests_over_seeds,
)


def model(value, *, low=None, high=None, measure="auc"):
    """PAIR_TESTS of one model with one row."""
    row = ("target", measure, 90, 80, value, low, high)
    return pa.table(
        {name: [cell] for name, cell in zip(PAIR_TESTS.names, row, strict=True)}, schema=PAIR_TESTS
    )


def row(*seeds):
    (found,) = pair_tests_over_seeds(seeds).to_pylist()
    return found


def test_a_value_is_the_mean_over_seeds_of_the_mean_over_their_models():
    first = [model(0.9, low=0.8, high=0.95), model(0.7, low=0.6, high=0.8)]
    second = [model(0.6, low=0.5, high=0.7), model(0.6, low=0.5, high=0.7)]

    found = row(first, second)

    assert (found["value"], found["seeds"], found["members"]) == (0.7, 2, 90)


def test_agreeing_seeds_give_the_interval_over_records_on_each_side():
    seed = [model(0.9, low=0.8, high=0.95)]

    found = row(seed, seed)

    assert (found["low"], found["high"]) == pytest.approx((0.8, 0.95))


def test_differing_seeds_widen_the_interval_within_0_and_1():
    seeds = [[model(value, low=value - 0.1, high=value + 0.05)] for value in (0.8, 0.9)]

    found = row(*seeds)

    assert found["low"] < 0.85 - 0.1
    assert 0.85 + 0.05 < found["high"] <= 1.0


def test_a_measure_is_null_if_a_seed_has_too_few_records_for_it():
    seeds = [[model(0.5, low=0.4, high=0.6, measure="tpr_1")], [model(None, measure="tpr_1")]]

    table = pair_tests_over_seeds(seeds)

    assert table.schema == PAIR_TESTS_OVER_SEEDS
    assert table["value"].to_pylist() == [None]
