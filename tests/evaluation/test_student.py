import numpy as np
import pytest
from scipy.stats import norm, t

from clipaudit.evaluation.student import margin, student_quantile, unseen_share


def test_without_variance_between_seeds_a_bound_is_that_over_records():
    assert margin(0.02, 0.0, 4) == 0.02


def test_if_only_seeds_vary_a_bound_is_that_of_student():
    assert margin(0.0, 0.01**2, 2) == pytest.approx(t.ppf(0.975, 2) * 0.01)


@pytest.mark.parametrize("degrees", [1, 2, 4])
def test_more_record_noise_never_narrows_the_interval(degrees):
    distances = [margin(of_records, 1.0, degrees) for of_records in (0.0, 0.1, 0.5, 2.0, 20.0)]

    assert distances == sorted(distances)
    assert distances[-1] == pytest.approx(20.0, rel=0.3)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.5, 5.0])
def test_intervals_cover_the_truth_with_both_sources_of_variance(seeds, ratio):
    """`ratio`: the standard error over records, divided by that over seeds."""
    drawn = np.random.default_rng(0)
    runs = 2000
    by_seed = drawn.normal(0, np.sqrt(seeds), (runs, seeds))
    off = by_seed.mean(axis=1) + drawn.normal(0, ratio, runs)

    bounds = [
        margin(norm.ppf(0.975) * ratio, variance, seeds - 1)
        for variance in by_seed.var(axis=1, ddof=1) / seeds
    ]

    assert np.mean(np.abs(off) <= bounds) > 0.925  # 94 %, and three standard errors


def test_quantiles_equal_those_of_scipy():
    assert student_quantile(2.5) == pytest.approx(t.ppf(0.975, 2.5))


def test_the_unseen_share_is_missed_with_probability_one_in_forty():
    assert (1 - unseen_share(30)) ** 30 == pytest.approx(0.025)
