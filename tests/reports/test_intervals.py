import duckdb
import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from clipaudit.evaluation.student import student_quantile
from clipaudit.reports.intervals import (
    DRAWS,
    exact_interval,
    grouped_share_bounds,
    kappa_interval,
    register_intervals,
    relative_change_interval,
)


def change_interval(*counts):
    return relative_change_interval(*(np.array([count]) for count in counts))[0]


@pytest.mark.parametrize("trials", [1, 2, 7, 100, 50_000])
def test_the_exact_interval_equals_that_of_scipy(trials):
    successes = np.unique(np.array([0, 1, trials // 3, trials - 1, trials]))

    bounds = exact_interval(successes, np.full(len(successes), trials))

    for count, (low, high) in zip(successes, bounds, strict=True):
        expected = binomtest(int(count), trials).proportion_ci(method="exact")
        # 1e-9: binomtest solves for its bounds, to that accuracy
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("successes", [998, 999, 1_000, 1_001])
def test_the_exact_interval_of_a_few_of_billions_is_that_of_a_poisson_count(successes):
    trials = 6 * 10**9
    expected = chi2.ppf([0.025, 0.975], [2 * successes, 2 * successes + 2]) / 2 / trials

    few = exact_interval(np.array([successes]), np.array([trials]))[0]
    most = exact_interval(np.array([trials - successes]), np.array([trials]))[0]

    np.testing.assert_allclose(few, expected, atol=1e-12)
    np.testing.assert_allclose(most, 1 - expected[::-1], atol=1e-12)


def test_the_exact_interval_has_at_least_its_stated_coverage():
    trials, rates = 20, np.linspace(0.01, 0.99, 50)
    bounds = exact_interval(np.arange(trials + 1), np.full(trials + 1, trials))
    counts = np.random.default_rng(0).binomial(trials, rates, size=(20_000, len(rates)))

    covered = (bounds[counts, 0] <= rates) & (rates <= bounds[counts, 1])

    assert covered.mean(axis=0).min() > 0.95 - 0.005  # 3 standard errors of 20,000 draws


def test_the_interval_of_the_largest_share_has_its_coverage_if_it_allows_for_the_choice():
    counts = np.random.default_rng(0).binomial(100, 0.1, size=(2_000, 10)).max(axis=1)
    trials = np.full(len(counts), 100)

    covered = [
        ((bounds[:, 0] <= 0.1) & (0.1 <= bounds[:, 1])).mean()
        for bounds in (exact_interval(counts, trials, 10), exact_interval(counts, trials))
    ]

    assert covered[0] > 0.95
    assert covered[1] < 0.85  # a single share's interval


def test_no_trials_give_no_interval():
    assert np.isnan(exact_interval(np.array([0]), np.array([0]))).all()
    assert exact_interval(np.array([], int), np.array([], int)).shape == (0, 2)


def test_the_change_interval_agrees_with_resampling_the_images():
    kept, lost, gained, _ = counts = (300, 80, 40, 180)
    was_right = np.repeat([1, 1, 0, 0], counts)
    is_right = np.repeat([1, 0, 1, 0], counts)
    images = np.random.default_rng(1).integers(0, sum(counts), size=(DRAWS, sum(counts)))
    changes = is_right[images].sum(axis=1) / was_right[images].sum(axis=1) - 1

    low, high = change_interval(*counts)

    assert low < (gained - lost) / (kept + lost) < high
    # Both sides are draws: a bound moves by about 0.001 from seed to seed.
    assert (low, high) == pytest.approx(tuple(np.quantile(changes, [0.025, 0.975])), abs=0.004)


@pytest.mark.parametrize("images", [100, 300])
@pytest.mark.parametrize("lost", [0.003, 0.01, 0.02])
def test_intervals_of_rare_changes_contain_them(images, lost):
    rates = (0.5 - lost, lost, 0, 0.5)
    counts = np.random.default_rng(0).multinomial(images, rates, size=300)

    bounds = relative_change_interval(*counts.T)

    change = -lost / 0.5
    assert ((bounds[:, 0] <= change) & (change <= bounds[:, 1])).mean() > 0.93


def test_pairing_gives_a_narrower_interval_than_two_separate_accuracies():
    narrow = change_interval(300, 20, 10, 270)  # 53 % and 52 %: mostly the same images
    wide = change_interval(160, 160, 150, 130)  # the same accuracies on unrelated images

    assert narrow[1] - narrow[0] < (wide[1] - wide[0]) / 2


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (0, 0, 5, 5), (1, 1, 1, 20)])
def test_few_right_answers_of_the_baseline_give_no_interval(counts):
    assert np.isnan(change_interval(*counts)).all()


def test_a_change_interval_does_not_depend_on_its_neighbours():
    both = relative_change_interval(
        np.array([300, 40]), np.array([80, 10]), np.array([40, 5]), np.array([180, 45])
    )

    np.testing.assert_array_equal(both[0], change_interval(300, 80, 40, 180))
    np.testing.assert_array_equal(both[1], change_interval(40, 10, 5, 45))


def test_sql_gives_the_same_intervals_and_null_for_missing_ones():
    with duckdb.connect() as connection:
        register_intervals(connection)
        got = connection.sql(
            "select exact_interval(a, b).low, exact_interval(a, b) is null, "
            "relative_change_interval(a, a, a, b).high "
            "from (values (40, 100), (0, 0), (null, 3)) counts(a, b)"
        ).fetchall()

    low = exact_interval(np.array([40]), np.array([100]))[0, 0]
    assert got[0] == (low, False, change_interval(40, 40, 40, 100)[1])
    assert got[1:] == [(None, True, None)] * 2


@pytest.mark.parametrize(("degrees", "expected"), [(1, 12.706205), (2, 4.302653), (9, 2.262157)])
def test_the_student_quantile_equals_the_tabulated_value(degrees, expected):
    assert student_quantile(degrees) == pytest.approx(expected, abs=1e-6)


def test_the_kappa_interval_agrees_with_resampling_the_samples():
    counts = (60, 30, 20, 490)  # both, the first alone, the second alone, neither
    decided = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], counts, axis=0)
    draws = decided[np.random.default_rng(1).integers(0, 600, size=(DRAWS, 600))].astype(float)
    agreed = (draws[..., 0] == draws[..., 1]).mean(axis=1)
    yes = draws.mean(axis=1)
    chance = yes.prod(axis=1) + (1 - yes).prod(axis=1)

    low, high = kappa_interval(*(np.array([count]) for count in counts))[0]

    expected = np.quantile((agreed - chance) / (1 - chance), [0.025, 0.975])
    # Both sides are draws: a bound moves by about 0.001 from seed to seed.
    assert (low, high) == pytest.approx(tuple(expected), abs=0.005)


@pytest.mark.parametrize("counts", [(0, 0, 0, 0), (0, 0, 0, 9), (9, 0, 0, 0), (1, 0, 0, 20)])
def test_nearly_uniform_decisions_give_no_kappa_interval(counts):
    assert np.isnan(kappa_interval(*(np.array([count]) for count in counts))).all()


def test_equal_decisions_are_not_certain_to_be_equal():
    ((low, high),) = kappa_interval(*(np.array([count]) for count in (50, 0, 0, 50)))

    assert (0.9 < low < 1, high) == (True, 1.0)


def test_the_kappa_interval_of_billions_of_samples_is_that_of_fewer_but_narrower():
    shares = np.array([900, 400, 500, 4050])

    (few,), (many,) = (kappa_interval(*(shares[:, None] * times)) for times in (10_000, 1_000_000))

    assert few[0] < many[0] < 0.56685 < many[1] < few[1]


def test_the_kappa_interval_of_rare_independent_decisions_contains_zero():
    decided = np.random.default_rng(0).random((150, 2, 1000)) < 0.01
    one, other = decided[:, 0], decided[:, 1]
    counts = [(a & b).sum(axis=1) for a in (one, ~one) for b in (other, ~other)]
    both, first, second, neither = counts

    bounds = kappa_interval(both, first, second, neither)

    known = bounds[~np.isnan(bounds).any(axis=1)]
    assert ((known[:, 0] <= 0) & (0 <= known[:, 1])).mean() > 0.93


def test_an_interval_of_summed_shares_is_between_those_of_whole_counts():
    with duckdb.connect() as connection:
        register_intervals(connection)
        (got,) = connection.sql(
            "select share_interval(2.5, 9), share_interval(null, 9), share_interval(0.0, 0)"
        ).fetchall()

    low, high = got[0].values()
    whole = exact_interval(np.array([2, 3]), np.array([9, 9]))
    assert whole[0, 0] < low < whole[1, 0]
    assert whole[0, 1] < high < whole[1, 1]
    assert got[1:] == (None, None)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
def test_the_interval_of_an_effective_number_contains_the_share_of_repeated_images(share):
    sizes = np.array([1] * 60 + [10] * 6)  # images by their pixels: equal ones agree
    hits = np.random.default_rng(0).random((4000, len(sizes))) < share
    counts, images = hits @ sizes, np.full(4000, sizes.sum())
    effective = images**2 / (sizes**2).sum()

    independent = exact_interval(counts, images)
    bounds = exact_interval(counts / images * effective, effective)

    assert ((bounds[:, 0] <= share) & (share <= bounds[:, 1])).mean() > 0.95
    assert ((independent[:, 0] <= share) & (share <= independent[:, 1])).mean() < 0.7


@pytest.mark.parametrize("share", [0.05, 0.58, 0.95])
def test_intervals_of_a_share_of_trials_in_groups_contain_it(share):
    random = np.random.default_rng(0)
    of_groups = random.beta(5 * share, 5 * (1 - share), size=(2000, 40))
    shares = random.binomial(43, of_groups) / 43

    bounds = np.array(
        [grouped_share_bounds(each.mean(), each.var(ddof=1) / 40, 40, 1720) for each in shares]
    )

    assert ((bounds[:, 0] <= share) & (share <= bounds[:, 1])).mean() > 0.93
