import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from clipaudit.copies.thresholds import (
    THRESHOLDS,
    Curve,
    allowed_positives,
    choose_threshold,
    threshold_among,
    thresholds_table,
)


def curve_of(false_positives, pairs, found=None, copies=10):
    rows = len(false_positives)
    return Curve(
        np.arange(rows),
        np.array(false_positives, np.int64),
        np.array(range(rows) if found is None else found, np.int64),
        pairs,
        copies,
    )


def fits(count, pairs, rate):
    if rate * 10 * pairs >= 30_000_000:  # ten times: 0.1 and 2.5 are then whole
        return count * 10_000_000 <= rate * 10 * pairs
    count = min(count, pairs)
    return (
        count <= 3 and binomtest(count, pairs).proportion_ci(0.95, "exact").low * 1_000_000 <= rate
    )


@given(
    st.lists(st.integers(0, 50), min_size=1).map(sorted),
    st.integers(1, 10_000_000),
    st.sampled_from([0.1, 1, 2.5, 1000]),
)
def test_the_loosest_threshold_within_the_rate_is_chosen(counts, pairs, rate):
    choice = choose_threshold(curve_of(counts, pairs), per_million=rate)

    within = [row for row, count in enumerate(counts) if fits(count, pairs, rate)]
    assert choice.row == (within[-1] if within else None)


def test_the_number_of_allowed_false_positives_is_exact():
    assert allowed_positives(40_000_000, 0.1) == 4
    assert allowed_positives(39_999_999, 0.1) == 3
    assert allowed_positives(0, 1) == 0


def test_few_pairs_allow_counts_that_do_not_prove_a_higher_rate():
    low = [binomtest(k, 425_000).proportion_ci(0.95, "exact").low * 1e6 for k in (2, 3)]

    assert low[0] < 1 < low[1]
    assert allowed_positives(425_000, 1) == 2


def test_enough_pairs_resolve_the_rate():
    choice = choose_threshold(curve_of([0, 3, 3, 4], 3_000_000))

    assert (choice.row, choice.threshold, choice.resolved) == (2, 2.0, True)
    assert "at most 1 false positives per million of 3,000,000 negative pairs" in choice.why


def test_too_few_pairs_give_a_choice_and_a_note_that_they_are_too_few():
    assert choose_threshold(curve_of([0, 1], 1_200_000), per_million=2.5).resolved

    choice = choose_threshold(curve_of([0, 1, 3, 4], 1_199_999), per_million=2.5)

    assert (choice.row, choice.resolved) == (2, False)
    assert (
        "1,199,999 negative pairs cannot measure 2.5 per million, which takes 1,200,000"
        in choice.why
    )
    assert "It has 3 false positives" in choice.why


def test_the_strictest_threshold_is_not_chosen_beyond_the_rate():
    choice = choose_threshold(curve_of([5, 9], 3_000_000))

    assert (choice.row, choice.threshold) == (None, None)
    assert "0, already finds 5 of 3,000,000 negative pairs, more than 1 per million" in choice.why


@pytest.mark.parametrize(
    ("curve", "missing"), [(curve_of([0, 0], 0), "negative pairs"), (curve_of([], 9), "copies")]
)
def test_without_measurements_no_threshold_is_chosen(curve, missing):
    choice = choose_threshold(curve)

    assert choice.row is None
    assert choice.why == f"No threshold was chosen: there are no {missing}."


def test_the_table_shows_rates_bounds_and_the_choice():
    curve = curve_of([0, 2, 9], 4_000_000, found=[1, 5, 8])

    table = thresholds_table("pdq", curve, choose_threshold(curve), verified_false_positives=1)

    assert table.schema == THRESHOLDS
    assert table["per_million"].to_pylist() == [0.0, 0.5, 2.25]
    assert table["recall"].to_pylist() == [0.1, 0.5, 0.8]
    assert table["chosen"].to_pylist() == [False, True, False]
    assert table["verified_false_positives"].to_pylist() == [None, 1, None]
    assert table["note"].to_pylist() == [None] * 3
    high = binomtest(2, 4_000_000).proportion_ci(0.95, "exact").high
    assert table["per_million_high"][1].as_py() == pytest.approx(high * 1e6, abs=1e-5)


def test_the_table_says_why_no_threshold_was_chosen():
    curve = curve_of([5, 9], 3_000_000)

    table = thresholds_table("pdq", curve, choose_threshold(curve))

    assert not any(table["chosen"].to_pylist())
    assert "the strictest one, 0" in table["note"][0].as_py()


def test_the_table_says_that_a_choice_is_not_resolved():
    curve = curve_of([0, 1], 1000)

    table = thresholds_table("pdq", curve, choose_threshold(curve))

    assert "1,000 negative pairs cannot measure 1 per million" in table["note"][0].as_py()


def test_unmeasured_values_are_null():
    curve = curve_of([0, 0], 0, copies=0)

    table = thresholds_table("pdq", curve, choose_threshold(curve))

    for column in ("per_million", "per_million_high", "recall"):
        assert table[column].null_count == 2


def table_of(false_positives, per_million, pairs=1_000_000):
    curve = curve_of(false_positives, pairs)
    choice = choose_threshold(curve, per_million=per_million)
    return thresholds_table("hash", curve, choice, per_million=per_million)


@pytest.mark.parametrize(
    ("images", "threshold"),
    [(None, 3), (100, 3), (300, 3), (3_000, 2), (15_000, 1), (10_000_000, 0)],
)
def test_more_compared_images_make_the_threshold_stricter(images, threshold):
    table = table_of([0, 2, 10, 100], per_million=100)

    assert threshold_among(table, images) == threshold


def test_without_a_measured_rate_the_threshold_is_no_looser_than_the_advised_one():
    table = table_of([0, 0, 0, 100], per_million=100)

    assert threshold_among(table, 1_000_000) == 2
    assert threshold_among(table, 1_000_000, advised=1) == 1


@pytest.mark.parametrize(
    ("counts", "pairs", "threshold"),
    [
        ([0, 0, 5, 900], 1_000_000, 2),  # 5 per million, 11.7 at most: certain
        ([0, 0, 95, 900], 1_000_000, 1),  # 95, and up to 116
        ([0, 0, 0, 0], 1_000, 1),  # nothing was measured
        ([0, 50, 150, 900], 1_000_000, 1),  # the rate alone chooses the advised one
    ],
)
def test_beyond_the_advised_threshold_the_rate_must_be_certain(counts, pairs, threshold):
    choice = choose_threshold(curve_of(counts, pairs), per_million=100, advised=1)

    assert choice.threshold == threshold


def test_no_threshold_is_chosen_if_the_strictest_exceeds_the_rate():
    choice = choose_threshold(curve_of([500, 600], 1_000_000), per_million=100, advised=1)

    assert choice.threshold is None


def test_without_a_choice_no_threshold_is_used():
    assert threshold_among(table_of([100], per_million=10), 5) is None
