import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import linregress, spearmanr
from sklearn.linear_model import LogisticRegression

from clipaudit.reports.fits import line_bounds, line_fit, logistic_fit, register_fits


@pytest.fixture
def connection():
    with duckdb.connect(config={"threads": 1}) as opened:
        register_fits(opened)
        yield opened


def answers(seed, n, slope):
    random = np.random.default_rng(seed)
    x = random.uniform(0.2, 1.0, n)
    return x, random.random(n) < 1 / (1 + np.exp(slope * (0.6 - x)))


@pytest.mark.parametrize(("n", "slope"), [(60, 3), (1000, -2), (1000, 9), (20_000, 40)])
def test_a_logistic_fit_equals_that_of_scikit_learn(n, slope):
    x, correct = answers(n, n, slope)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(x[:, None], correct)

    # 1e-6: the other solver stops when its gradient is small
    expected = (model.intercept_[0], model.coef_[0, 0])
    assert logistic_fit(x, correct) == pytest.approx(expected, rel=1e-6)


def test_a_steep_fit_that_needs_halved_steps_is_found():
    x = np.linspace(0, 1, 2001)
    correct = x > 0.5
    correct[[990, 1010]] = ~correct[[990, 1010]]  # two answers keep it from being separated

    intercept, slope = logistic_fit(x, correct)

    def loss(weights):
        logits = weights[0] + weights[1] * x
        return (np.logaddexp(0, logits) - correct * logits).sum()

    assert slope > 100
    found = minimize(loss, [intercept, slope], method="Nelder-Mead", tol=1e-12)
    assert loss((intercept, slope)) <= found.fun + 1e-9


@pytest.mark.parametrize("exponent", [2, 6, 10, 13])
def test_barely_overlapping_answers_have_a_steep_fit(exponent):
    overlap = 10.0**-exponent
    x = np.array([0.0, 0.1, 0.5 - overlap, 0.5 + overlap, 0.9, 1.0])
    correct = np.array([False, False, True, False, True, True])

    intercept, slope = logistic_fit(x, correct)

    chances = 1 / (1 + np.exp(-(intercept + slope * x)))
    assert (correct - chances).sum() == pytest.approx(0, abs=1e-6)
    assert ((correct - chances) * (x - 0.5)).sum() == pytest.approx(0, abs=1e-6)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=12), st.randoms())
def test_the_order_does_not_matter_and_no_fit_exists_without_overlap(pairs, random):
    def fit(rows):
        x = np.array([row[0] / 20 for row in rows], np.float64)
        return logistic_fit(x, np.array([row[1] for row in rows], bool))

    shuffled = random.sample(pairs, len(pairs))
    right = [x for x, is_right in pairs if is_right]
    wrong = [x for x, is_right in pairs if not is_right]
    exists = right and wrong and min(right) < max(wrong) and min(wrong) < max(right)

    np.testing.assert_array_equal(fit(pairs), fit(shuffled))
    assert np.isfinite(fit(pairs)).all() == bool(exists)


@pytest.mark.parametrize(
    ("x", "correct"),
    [
        ([], []),
        ([0.5], [True]),
        ([0.1, 0.9], [True, True]),
        ([0.5, 0.5], [True, False]),
        ([0.1, 0.2, 0.8, 0.9], [False, False, True, True]),
        ([0.1, 0.5, 0.5, 0.9], [False, False, True, True]),  # they touch and do not cross
    ],
)
def test_data_without_a_logistic_fit_give_nan(x, correct):
    assert np.isnan(logistic_fit(np.array(x, np.float64), np.array(correct, bool))).all()


def test_a_line_equals_that_of_scipy_and_needs_two_abscissas():
    x, y = np.random.default_rng(0).normal(size=(2, 30))
    expected = linregress(x, y)

    assert line_fit(x, y) == pytest.approx((expected.intercept, expected.slope), rel=1e-8)
    assert line_fit(x[::-1], y[::-1]) == line_fit(x, y)
    assert np.isnan(line_fit(np.array([1.0, 1.0]), np.array([2.0, 3.0]))).all()
    assert np.isnan(line_fit(np.array([]), np.array([]))).all()


def test_sql_gives_the_same_fits_and_null_for_none(connection):
    x, correct = answers(3, 200, 5)
    connection.register("points", {"x": x, "correct": correct, "y": x * x})

    got = connection.sql(
        "select logistic_fit(list(x), list(correct)), line_fit(list(x), list(y)), "
        "logistic_fit(list(x), list(true)), line_fit(null, null), "
        "line_fit([1, 2, null, 4], [1, 2, 3, null]).slope from points"
    ).fetchall()[0]

    assert tuple(got[0].values()) == logistic_fit(x, correct)
    assert tuple(got[1].values()) == line_fit(x, x * x)
    assert got[2:] == (None, None, 1.0)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), min_size=2, max_size=30).filter(
        lambda pairs: all(len(set(side)) > 1 for side in zip(*pairs, strict=True))
    )
)
def test_rank_correlation_equals_spearmans_even_with_ties(pairs):
    x, y = np.array(pairs).T
    with duckdb.connect(config={"threads": 1}) as connection:
        register_fits(connection)
        connection.register("points", {"x": x, "y": y})
        ((got, ranks),) = connection.sql(
            "with ranked as (select doubled_rank(x, 0) as a, doubled_rank(y, 0) as b from points) "
            "select rank_correlation(a, b), sum(a) from ranked"
        ).fetchall()

    assert got == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
    assert ranks == len(x) * (len(x) + 1)  # twice 1 + ... + n


def test_equal_rankings_correlate_by_exactly_one_and_constants_give_null(connection):
    got = connection.sql(
        "with points as (select part, i, if(part = 2, 0, i * i % 7) as x from range(3) p(part), "
        "range(50_000) r(i)), "
        "ranked as (select part, doubled_rank(x, (part, part)) as a, "
        "doubled_rank(if(part = 1, -x, x), (part, part)) as b from points) "
        "select part, rank_correlation(a, b) from ranked group by part order by part"
    ).fetchall()

    assert got == [(0, 1.0), (1, -1.0), (2, None)]


@pytest.mark.parametrize("points", [3, 5, 20])
def test_95_percent_of_intervals_about_a_line_contain_a_further_point(points):
    random = np.random.default_rng(points)
    x, noise = random.normal(size=(2, 2000, points + 1))
    y = 0.8 * x - 1 + 0.2 * noise

    bounds = np.array([line_bounds(a[:-1], b[:-1], a[-1]) for a, b in zip(x, y, strict=True)])

    inside = (bounds[:, 0] <= y[:, -1]) & (y[:, -1] <= bounds[:, 1])
    assert inside.mean() == pytest.approx(0.95, abs=0.015)  # 3 standard errors of 2000 draws


@pytest.mark.parametrize("y", [[1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 2.0, 2.0]])
def test_points_without_scatter_about_their_line_give_no_interval(y):
    assert np.isnan(line_bounds(np.arange(len(y)) + 0.0, np.array(y), 1.0)).all()
