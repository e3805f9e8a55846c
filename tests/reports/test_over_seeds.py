"""Intervals over seeds and images, against plain formulas and simulated trainings."""

from collections import Counter
from statistics import variance

import duckdb
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import beta, norm, ttest_1samp
from scipy.stats import t as student

from clipaudit.reports.intervals import change_bounds, exact_interval, relative_change_interval
from clipaudit.reports.over_seeds import (
    accuracy_over_seeds,
    change_over_seeds,
    mean_over_seeds,
    register_over_seeds,
)


def image_kinds(right, was_right):
    """The number of images by how many seeds are right; both arrays have a row for each seed."""
    found = Counter(zip(right.sum(axis=0), was_right.sum(axis=0), strict=True))
    return np.array([(*kind, images) for kind, images in found.items()], dtype=np.int64)


def change(right, was_right, chosen_of=1):
    counts = (each.sum(axis=1, dtype=np.int64) for each in (right, was_right))
    return change_over_seeds(*counts, image_kinds(right, was_right), chosen_of)


def widened(value, bounds, by_seed, confidence=0.975):
    """The textbook's interval of both variances, with Satterthwaite's degrees of freedom.

    It is at least as wide as Student's over the seeds alone.
    """
    seeds, found = len(by_seed), []
    for bound in bounds:
        of_images, of_seeds = (
            ((bound - value) / norm.ppf(confidence)) ** 2,
            variance(by_seed) / seeds,
        )
        whole = of_images + of_seeds
        degrees = whole**2 / (of_seeds**2 / (seeds - 1))
        both = student.ppf(confidence, degrees) * whole**0.5
        alone = student.ppf(confidence, seeds - 1) * of_seeds**0.5
        found.append(np.sign(bound - value) * max(both, alone))
    return value + np.array(found)


@st.composite
def answers(draw):
    """Right answers of a model and of its baseline: bool, (2, seeds, images)."""
    shape = (2, draw(st.integers(2, 4)), 60)
    return draw(arrays(bool, shape, elements=st.booleans(), fill=st.nothing()))


@given(answers(), st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_the_interval_of_a_change_equals_the_textbook_formula(both, chosen_of):
    right, was_right = both
    assume(was_right.sum() > 40)
    ratio = right.sum() / was_right.sum()
    by_seed = [(own - ratio * base) / was_right.mean() for own, base in both.mean(axis=2).T]
    assume(np.var(by_seed) > 1e-12)
    seeds = len(right)
    order = [(n, m) for m in range(seeds, -1, -1) for n in range(seeds, -1, -1)]
    counts = Counter(zip(right.sum(axis=0), was_right.sum(axis=0), strict=True))
    in_order = np.array([counts[kind] for kind in order])
    bounds = change_bounds(in_order, *np.array(order).T, chosen_of)
    assume(bounds[0] < ratio - 1 < bounds[1])

    expected = widened(ratio - 1, bounds, by_seed, 1 - 0.025 / chosen_of)

    # 1e-6: the root of small squared differences
    assert change(right, was_right, chosen_of) == pytest.approx(np.maximum(expected, -1), abs=1e-6)


@given(st.lists(st.integers(1, 59), min_size=2, max_size=5, unique=True))
def test_the_interval_of_an_accuracy_equals_the_textbook_formula(correct):
    shares = [count / 60 for count in correct]
    mean = sum(shares) / len(shares)
    right = 60 * mean  # images, not always a whole number
    bounds = beta.ppf(0.025, right, 61 - right), beta.ppf(0.975, right + 1, 60 - right)

    got = accuracy_over_seeds(np.array(correct), 60)

    assert got == pytest.approx(widened(mean, bounds, shares).clip(0, 1), abs=1e-9)


def test_one_seed_gives_the_intervals_over_images():
    kinds = np.array([[0, 1, 80], [1, 1, 300], [0, 0, 180], [1, 0, 40]])
    counts = (np.array([count]) for count in (300, 80, 40, 180))

    got = change_over_seeds(np.array([340]), np.array([380]), kinds)

    np.testing.assert_array_equal(got, relative_change_interval(*counts)[0])
    accuracy = accuracy_over_seeds(np.array([340]), 600)
    np.testing.assert_array_equal(accuracy, exact_interval(np.array([340]), np.array([600]))[0])


def test_agreeing_seeds_give_the_interval_over_images():
    random = np.random.default_rng(0)
    one = random.random((2, 1, 200)) < 0.6
    alike = np.repeat(one, 3, axis=1)

    np.testing.assert_array_equal(change(*alike), change(*one))
    low, high = change(*alike)
    assert high - low > 0.1
    low, high = accuracy_over_seeds(np.array([120, 120, 120]), 200)
    assert high - low > 0.1


def test_differing_seeds_widen_the_interval_more_if_they_are_fewer():
    widths = [
        np.diff(accuracy_over_seeds(np.array([500, 600] * pairs), 1000))[0] for pairs in (1, 2, 4)
    ]

    assert widths[0] > 2 * widths[1] > 2 * widths[2]
    assert widths[2] > np.diff(exact_interval(np.array([550]), np.array([1000]))[0])[0]


def test_the_order_of_seeds_and_kinds_does_not_matter():
    right, was_right = np.random.default_rng(1).random((2, 3, 90)) < 0.5
    kinds = image_kinds(right, was_right)
    counts = [each.sum(axis=1, dtype=np.int64) for each in (right, was_right)]

    turned = change_over_seeds(*(each[::-1] for each in counts), kinds[::-1])

    np.testing.assert_array_equal(turned, change_over_seeds(*counts, kinds))


def test_if_no_test_set_of_several_loses_a_loss_is_rarely_claimed():
    random, claims = np.random.default_rng(5), {1: 0, 6: 0}
    for _ in range(100):
        luck = random.normal(0.6, 0.04, size=(2, 6, 3, 1))  # of each model, test set and seed
        own, base = random.random((2, 6, 3, 60)) < luck
        for chosen_of in claims:
            claims[chosen_of] += any(change(own[n], base[n], chosen_of)[1] < 0 for n in range(6))

    assert claims[6] <= 2 < 5 < claims[1]  # 2.5 % are allowed


def test_few_right_answers_of_the_baseline_give_no_interval():
    right, was_right = np.ones((2, 50), bool), np.eye(2, 50, dtype=bool)

    assert np.isnan(change(right, was_right)).all()


def trained(runs, models, seeds, spread):
    """Right answers of simulated models that differ only in their seeds, on 200 images."""
    random = np.random.default_rng(0)
    logits = random.normal(0, 1.5, size=(runs, 1, 1, 200))  # how easy each image is
    logits = logits + random.normal(0, spread, size=(runs, models, seeds, 1))  # effect of a seed
    return random.random((runs, models, seeds, 200)) < 1 / (1 + np.exp(-logits))


def test_about_95_percent_of_intervals_contain_0_if_nothing_changes():
    bounds = np.array([change(*each) for each in trained(150, 2, 3, 0.3)])

    # answers drawn anew for each seed are noise in both variances: somewhat more than 95 %
    assert 0.92 <= ((bounds[:, 0] <= 0) & (bounds[:, 1] >= 0)).mean() < 1
    assert np.median(bounds[:, 1] - bounds[:, 0]) < 0.9


@pytest.mark.parametrize(("seeds", "spread"), [(2, 0.0), (3, 0.1), (3, 0.4), (5, 0.4)])
def test_about_95_percent_of_intervals_contain_the_true_accuracy(seeds, spread):
    counts = trained(1000, 1, seeds, spread)[:, 0].sum(axis=2, dtype=np.int64)

    bounds = np.array([accuracy_over_seeds(each, 200) for each in counts])

    # a half by symmetry; between 92 and 95 % at three seeds, more if answers are drawn anew
    assert 0.92 <= ((bounds[:, 0] <= 0.5) & (bounds[:, 1] >= 0.5)).mean() < 1


def test_a_mean_of_one_seed_has_students_interval_over_its_items():
    values = np.random.default_rng(0).normal(size=12)

    bounds = mean_over_seeds(np.array([values.mean()]), float(values.var(ddof=1) / 12), 12)

    assert tuple(bounds) == pytest.approx(ttest_1samp(values, 0).confidence_interval(0.95))


def test_a_mean_of_at_most_one_item_has_no_interval():
    with duckdb.connect() as connection:
        register_over_seeds(connection)
        (got,) = connection.sql(
            "select mean_over_seeds([0.1], 0.0, 1), mean_over_seeds([0.1], null, 0)"
        ).fetchall()

    assert got == (None, None)


def test_sql_gives_the_same_intervals():
    with duckdb.connect() as connection:
        register_over_seeds(connection)
        (got,) = connection.sql(
            "select accuracy_over_seeds([70, 80], 100).low, "
            "change_over_seeds([70, 80], [90, 85], [2, 1, 2, 0], [2, 2, 1, 1], [60, 15, 15, 10], 3)"
        ).fetchall()

    kinds = np.array([[2, 2, 60], [1, 2, 15], [2, 1, 15], [0, 1, 10]])
    expected = change_over_seeds(np.array([70, 80]), np.array([90, 85]), kinds, 3)
    assert got[0] == accuracy_over_seeds(np.array([70, 80]), 100)[0]
    assert tuple(got[1].values()) == tuple(expected)
