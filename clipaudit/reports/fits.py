"""Fits and correlations of the report, in NumPy and as DuckDB functions.

A logistic curve models how the chance of a right answer grows with similarity, a straight line the
expected accuracy; Spearman's coefficient compares two rankings. Fits sort their points first, so
they do not depend on the order. Coefficients are rounded to digits on which all builds of NumPy
agree.
"""

from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float64

from clipaudit.evaluation.student import student_quantile
from clipaudit.reports.intervals import register_structs, structs

DIGITS = 9  # significant digits of a coefficient: more than any figure shows
STEPS = 100  # of Newton's method; about ten are needed, more only close to separation
TOLERANCE = 1e-11  # of the last step, relative to the coefficients
NOISE = 1e-10  # relative rounding noise of a sum of losses, too small to halve a step

_LINE = ("intercept", "slope")
_BOUNDS = ("low", "high")

# Ranks are doubled, so that the mean rank of tied values is an integer too; sums are hugeint, so
# only the final fraction is rounded. Null if either side does not vary.
_MACROS = """
create macro doubled_rank(value, part) as (
    2 * rank() over (partition by part order by value)
    + count(*) over (partition by part, value) - 1
);
create macro scaled_covariance(a, b) as (
    count(*) * sum(a::hugeint * b) - sum(a::hugeint) * sum(b::hugeint)
);
create macro rank_correlation(a, b) as (
    case when scaled_covariance(a, a) > 0 and scaled_covariance(b, b) > 0 then
        greatest(-1, least(1, scaled_covariance(a, b)::double / sqrt(
            scaled_covariance(a, a)::double * scaled_covariance(b, b)::double
        )))
    end
);
"""


def logistic_fit(
    similarity: Float64[np.ndarray, " n"], correct: Bool[np.ndarray, " n"]
) -> tuple[float, float]:
    """Return (intercept, slope) of the most likely P(correct) = 1 / (1 + exp(-(i + s * x))).

    It exists only if the ranges of right and wrong answers overlap. Returns NaN twice without
    samples, with one kind of answer, with equal similarities, or if some similarity separates the
    answers. Similarities are finite. The order of the samples does not matter.

    >>> logistic_fit(np.array([0.1, 0.4, 0.5, 0.9]), np.array([False, True, False, True]))
    (-2.93388125, 6.36576522)
    """
    if not _overlap(similarity[correct], similarity[~correct]):
        return float("nan"), float("nan")
    order = np.lexsort((correct, similarity))
    x = similarity[order]
    centre, spread = x.mean(), x.std()
    intercept, slope = _most_likely((x - centre) / spread, correct[order].astype(np.float64))
    return _rounded(intercept - slope * centre / spread), _rounded(slope / spread)


def _overlap(right: Float64[np.ndarray, " n"], wrong: Float64[np.ndarray, " m"]) -> bool:
    """Return whether the ranges of two sets share more than an end (Albert & Anderson, 1984)."""
    if not (len(right) and len(wrong)):
        return False
    return bool(right.min() < wrong.max() and wrong.min() < right.max())


def _most_likely(
    x: Float64[np.ndarray, " n"], correct: Float64[np.ndarray, " n"]
) -> tuple[float, float]:
    """Return the maximum of the concave likelihood by Newton's method.

    Sums are NumPy's: those of a linear algebra library depend on its threads.
    """
    intercept, slope = 0.0, 0.0
    loss = _loss(x, correct, intercept, slope)
    for _ in range(STEPS):
        chances = 0.5 * (1 + np.tanh(0.5 * (intercept + slope * x)))  # (n,); nothing overflows
        step = _newton_step(x, correct - chances, chances * (1 - chances))
        new_loss = _loss(x, correct, intercept + step[0], slope + step[1])
        while new_loss > loss * (1 + NOISE):
            step = step[0] / 2, step[1] / 2
            new_loss = _loss(x, correct, intercept + step[0], slope + step[1])
        intercept, slope, loss = intercept + step[0], slope + step[1], new_loss
        if max(map(abs, step)) <= TOLERANCE * max(1.0, abs(intercept), abs(slope)):
            break
    return intercept, slope


def _newton_step(
    x: Float64[np.ndarray, " n"],
    errors: Float64[np.ndarray, " n"],
    weights: Float64[np.ndarray, " n"],
) -> tuple[float, float]:
    """Return the line of weighted least squares through errors / weights, over x.

    Returns no step if the weights vanish: the answers then overlap only by rounding, and the slope
    is useless.
    """
    total = weights.sum()
    if total == 0:
        return 0.0, 0.0
    centre = (weights * x).sum() / total
    aside = x - centre  # centred, since the plain normal equations would cancel digits
    curvature = (weights * aside * aside).sum()
    if curvature == 0:
        return 0.0, 0.0
    slope = float((errors * aside).sum() / curvature)
    return float(errors.sum() / total - slope * centre), slope


def _loss(
    x: Float64[np.ndarray, " n"],
    correct: Float64[np.ndarray, " n"],
    intercept: float,
    slope: float,
) -> float:
    """Return the negative logarithm of the likelihood."""
    logits = intercept + slope * x
    return float((np.logaddexp(0, logits) - correct * logits).sum())


def line_fit(x: Float64[np.ndarray, " n"], y: Float64[np.ndarray, " n"]) -> tuple[float, float]:
    """Return (intercept, slope) of the least-squares line of y over x; NaN twice where no two x
    differ. The order of the points does not matter.

    >>> line_fit(np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0]))
    (1.0, 2.0)
    """
    if len(x) == 0 or x.min() == x.max():
        return float("nan"), float("nan")
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    aside = x - x.mean()
    slope = float((aside * (y - y.mean())).sum() / (aside * aside).sum())
    return _rounded(y.mean() - slope * x.mean()), _rounded(slope)


def line_bounds(
    x: Float64[np.ndarray, " n"], y: Float64[np.ndarray, " n"], at: float
) -> tuple[float, float]:
    """Return the 95 % prediction interval (low, high) of a further point's y at the x `at`.

    Student's, around the line of `line_fit` (Draper and Smith, Applied Regression Analysis, 1998,
    Sec. 3.1). NaN twice with fewer than three points, without a line, or if all points are on it:
    their scatter is then unknown. The order of the points does not matter.

    >>> x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.1, 0.9, 2.1, 2.9])
    >>> [round(bound, 3) for bound in line_bounds(x, y, 1.5)]
    [0.892, 2.108]
    """
    intercept, slope = line_fit(x, y)
    if len(x) < 3 or np.isnan(slope):
        return float("nan"), float("nan")
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    degrees = len(x) - 2
    variance = round(float(((y - intercept - slope * x) ** 2).sum()) / degrees, 2 * DIGITS)
    if variance == 0:
        return float("nan"), float("nan")
    aside = x - x.mean()
    further = 1 + 1 / len(x) + (at - x.mean()) ** 2 / (aside * aside).sum()
    half = student_quantile(degrees) * float(np.sqrt(variance * further))
    expected = intercept + slope * at
    return _rounded(expected - half), _rounded(expected + half)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def register_fits(connection: duckdb.DuckDBPyConnection) -> None:
    """Register `logistic_fit`, `line_fit`, `line_bounds`, `doubled_rank`, `rank_correlation`.

    `logistic_fit(list(x), list(correct))` and `line_fit(list(x), list(y))` are structs
    (intercept, slope), null if there is no fit; pairs with a null are left out.
    `line_bounds(list(x), list(y), at)` is a struct (low, high), null if there is no interval or
    `at` is null.

    `doubled_rank(value, part)` is twice a row's mean rank among the rows of equal `part`, an
    integer even for ties; `rank_correlation(a, b)` aggregates two such columns to Spearman's
    coefficient. Pass several columns as a part by (first, second).
    """

    # DuckDB takes the number of arguments from the signature.
    def logistic(similarity: pa.ChunkedArray, correct: pa.ChunkedArray) -> pa.Array:
        return _fitted(logistic_fit, similarity, correct, np.bool_)

    def line(x_lists: pa.ChunkedArray, y_lists: pa.ChunkedArray) -> pa.Array:
        return _fitted(line_fit, x_lists, y_lists, np.float64)

    def bounds(x_lists: pa.ChunkedArray, y_lists: pa.ChunkedArray, at: pa.ChunkedArray) -> pa.Array:
        rows = zip(*(each.to_pylist() for each in (x_lists, y_lists, at)), strict=True)
        found = [
            (np.nan, np.nan) if place is None else line_bounds(*_points(x, y, np.float64), place)
            for x, y, place in rows
        ]
        return structs(np.array(found, np.float64).reshape(-1, 2), _BOUNDS)

    lists = ["double[]", "double[]"]
    register_structs(connection, "line_bounds", bounds, [*lists, "double"], _BOUNDS)
    register_structs(connection, "logistic_fit", logistic, ["double[]", "boolean[]"], _LINE)
    register_structs(connection, "line_fit", line, lists, _LINE)
    connection.execute(_MACROS)


def _fitted(
    fit: Callable[..., tuple[float, float]],
    x_lists: pa.ChunkedArray,
    y_lists: pa.ChunkedArray,
    kind: type[np.generic],
) -> pa.Array:
    pairs = zip(x_lists.to_pylist(), y_lists.to_pylist(), strict=True)
    fits = [fit(*_points(x, y, kind)) for x, y in pairs]
    return structs(np.array(fits, np.float64).reshape(-1, 2), _LINE)


def _points(
    x: list[float | None] | None, y: list[float | None] | None, kind: type[np.generic]
) -> tuple[Float64[np.ndarray, " n"], np.ndarray]:
    """Return the pairs of two lists that have both sides."""
    pairs = zip(x, y, strict=True) if x and y else ()
    known = [pair for pair in pairs if None not in pair]
    return (
        np.array([pair[0] for pair in known], np.float64),
        np.array([pair[1] for pair in known], kind),
    )
