import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.copies.calibration import (
    CALIBRATION,
    calibration_table,
    measure_distances,
    measure_similarities,
)
from clipaudit.copies.calibration_pairs import MadeCopies, is_within, pairs_within
from clipaudit.copies.thresholds import allowed_positives, choose_threshold, row_of
from clipaudit.copies.transformations import Way

NO_REPEATS = np.empty((0, 2), np.int64)


def copies_of(original, background=None, position=None):
    def column(values, fill):
        return np.array([fill] * len(original) if values is None else values, np.int64)

    return MadeCopies(np.array(original, np.int64), column(position, 0), column(background, -1))


def blocks_of(values, rows):
    return [values[start : start + rows] for start in range(0, len(values), rows)]


def plain_pairs(copies, repeats, originals):
    """The own and the negative pairs, as the module defines them."""
    same = {(i, i) for i in range(originals)}
    same |= {pair for a, b in repeats.tolist() for pair in ((a, b), (b, a))}
    made_of = list(zip(copies.original.tolist(), copies.background.tolist(), strict=True))
    own = [(copy, original) for copy, (original, _) in enumerate(made_of)]
    negative = [
        (copy, i)
        for copy, sources in enumerate(made_of)
        for i in range(originals)
        if not any((source, i) in same for source in sources)
    ]
    return own, negative


@st.composite
def cases(draw):
    """Copies, repeats, distances that tie often, and the rows of a block."""
    originals, count = draw(st.integers(1, 7)), draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    copies = copies_of(
        rng.integers(0, originals, count), background=rng.integers(-1, originals, count)
    )
    repeats = rng.integers(0, originals, (draw(st.integers(0, 4)), 2))
    values = rng.integers(0, draw(st.integers(1, 40)), (count, originals))
    return copies, repeats, values, draw(st.integers(1, 13))


@given(cases())
def test_distance_counts_equal_counts_one_by_one(case):
    copies, repeats, values, rows = case
    own, negative = plain_pairs(copies, repeats, values.shape[1])

    curve, mine = measure_distances(
        copies, repeats, blocks_of(values, rows), originals=values.shape[1], largest=30
    )

    assert curve.negative_pairs == len(negative)
    assert mine.tolist() == [values[pair] for pair in own]
    for t in range(31):
        assert curve.false_positives[t] == sum(values[pair] <= t for pair in negative)
        assert curve.found[t] == sum(values[pair] <= t for pair in own)


@given(cases(), st.sampled_from([1, 20_000, 100_000, 400_000, 1_000_000]))
def test_similarity_counts_equal_counts_one_by_one(case, per_million):
    copies, repeats, values, rows = case
    values = values / 8 - 2
    own, negative = plain_pairs(copies, repeats, values.shape[1])

    curve, mine = measure_similarities(
        copies,
        repeats,
        lambda: blocks_of(values, rows),
        originals=values.shape[1],
        per_million=per_million,
    )

    assert curve.negative_pairs == len(negative)
    assert mine.tolist() == [values[pair] for pair in own]
    assert (np.diff(curve.thresholds) < 0).all()
    for threshold, false, found in zip(
        curve.thresholds, curve.false_positives, curve.found, strict=True
    ):
        assert false == sum(values[pair] >= threshold for pair in negative)
        assert found == sum(values[pair] >= threshold for pair in own)


@given(cases(), st.sampled_from([1, 20_000, 100_000, 400_000]))
def test_the_chosen_similarity_is_the_loosest_that_occurs_within_the_rate(case, per_million):
    copies, repeats, values, rows = case
    values = values / 8 - 2
    own, negative = plain_pairs(copies, repeats, values.shape[1])
    curve, _ = measure_similarities(
        copies,
        repeats,
        lambda: blocks_of(values, rows),
        originals=values.shape[1],
        per_million=per_million,
    )

    choice = choose_threshold(curve, per_million=per_million)

    allowed = allowed_positives(len(negative), per_million)
    fitting = [
        values[one]
        for one in own + negative
        if sum(values[pair] >= values[one] for pair in negative) <= allowed
    ]
    assert choice.threshold == (min(fitting) if fitting and negative else None)


def test_many_similarities_give_few_thresholds_including_the_chosen_one():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(3000, 40))
    copies = copies_of(rng.integers(0, 40, 3000))

    curve, _ = measure_similarities(
        copies, NO_REPEATS, lambda: blocks_of(values, 700), originals=40, per_million=5000
    )

    allowed = allowed_positives(3000 * 39, 5000)
    assert len(curve.thresholds) <= 200
    assert curve.false_positives[choose_threshold(curve, per_million=5000).row] == allowed == 585


def test_a_given_similarity_has_a_row_with_the_counts_of_its_own_pairs():
    rng = np.random.default_rng(0)
    original = np.repeat([0, 1], 1500)
    values = rng.uniform(size=(3000, 2))

    curve, mine = measure_similarities(
        copies_of(original), NO_REPEATS, lambda: [values], originals=2, given=0.7123
    )

    row = row_of(curve, 0.7123)
    assert curve.thresholds[row] == 0.7123
    assert curve.found[row] == np.count_nonzero(mine >= 0.7123)
    negative = values[np.arange(3000), 1 - original]
    assert curve.false_positives[row] == np.count_nonzero(negative >= 0.7123)


@given(cases(), st.integers(0, 40))
def test_own_and_negative_pairs_within_a_threshold_are_listed(case, threshold):
    copies, repeats, values, rows = case
    own, negative = plain_pairs(copies, repeats, values.shape[1])

    found = pairs_within(
        copies, repeats, blocks_of(values, rows), threshold, originals=values.shape[1]
    )

    expected = sorted(pair for pair in own + negative if values[pair] <= threshold)
    assert list(zip(found.copy.tolist(), found.original.tolist(), strict=True)) == expected
    assert found.own.tolist() == [pair in own for pair in expected]


def test_pairs_with_repeats_and_backgrounds_do_not_count():
    copies = copies_of([0, 0], background=[-1, 2])
    repeats = np.array([[0, 1], [3, 2]])
    values = np.zeros((2, 5), np.uint8)

    curve, _ = measure_distances(copies, repeats, [values], originals=5)

    assert curve.negative_pairs == 3 + 1  # 2, 3, 4 for the first copy; 4 for the second


def test_a_similarity_of_minus_infinity_is_never_found():
    copies = copies_of([0, 1])
    values = np.array([[0.5, -np.inf], [0.25, -np.inf]])

    curve, own = measure_similarities(copies, NO_REPEATS, lambda: [values], originals=2)

    assert curve.thresholds.tolist() == [0.5, 0.25]
    assert curve.found.tolist() == [1, 1]
    assert curve.false_positives.tolist() == [0, 1]
    assert own.tolist() == [0.5, -np.inf]


def test_distances_of_small_types_do_not_overflow():
    curve, own = measure_distances(
        copies_of([0, 1]), NO_REPEATS, [np.array([[0, 255], [127, 128]], np.uint8)], originals=2
    )

    assert curve.false_positives[[0, 126, 127]].tolist() == [0, 0, 1]
    assert own.tolist() == [0, 128]


def test_no_copies_give_no_counts():
    none = copies_of([])

    curve, own = measure_similarities(none, NO_REPEATS, lambda: [], originals=3)

    assert (len(curve.thresholds), curve.negative_pairs, len(own)) == (0, 0, 0)
    assert measure_distances(none, NO_REPEATS, [], originals=3).curve.found.sum() == 0
    assert len(calibration_table("pdq", none, np.empty(0, bool))) == 0


@pytest.mark.parametrize("shapes", [[(2, 3)], [(3, 3), (1, 3)], [(3, 2)], [(3, 4)]])
def test_blocks_that_do_not_match_the_copies_are_refused(shapes):
    blocks = [np.zeros(shape, np.int64) for shape in shapes]

    with pytest.raises(ValueError, match=r"block.* copies, expected"):
        measure_distances(copies_of([0, 1, 2]), NO_REPEATS, blocks, originals=3)


def test_a_threshold_is_a_maximum_distance_or_a_minimum_similarity():
    assert is_within(np.array([1, 2, 3]), 2).tolist() == [True, True, False]
    assert is_within(np.array([0.1, 0.2, 0.3]), 0.2).tolist() == [False, True, True]


def test_the_table_says_of_each_copy_whether_it_is_found_and_verified():
    ways = [Way("crop", 0.9, "a little"), Way("grey", 1, "all")]
    copies = copies_of([0, 1, 0], position=[0, 0, 1])
    found, verified = np.array([True, True, False]), np.array([True, False, True])

    table = calibration_table("pdq", copies, found, verified, ways=ways)

    assert table.schema == CALIBRATION
    names = ["position", "label", "original", "found", "verified"]
    assert [tuple(row.values()) for row in table.select(names).to_pylist()] == [
        (0, "a little", 0, True, True),
        (0, "a little", 1, True, False),
        (1, "all", 0, False, False),
    ]


def test_without_a_threshold_found_and_verified_are_null():
    table = calibration_table("pdq", copies_of([0]), None, np.array([True]))

    assert table["found"].null_count == table["verified"].null_count == len(table) == 1
