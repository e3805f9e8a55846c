"""95 % confidence intervals of the rates in report tables, in NumPy and as DuckDB functions.

An accuracy is a count out of a count, so its interval is the exact one of Clopper and Pearson
(1934). A relative change compares two models on the same images, so images are resampled as pairs
(Efron's percentile bootstrap). Only the kind of a pair matters - which of the two models was
right - so resampling the images is a multinomial draw of the four counts. The same holds for the
agreement of two decisions about the same things.
"""

from collections.abc import Callable, Sequence
from math import sqrt

import duckdb
import numpy as np
import pyarrow as pa
from duckdb.func import ARROW, SPECIAL
from jaxtyping import Float64, Int64

from clipaudit.evaluation.student import (
    DECIMALS,
    student_quantile,
    tail,
    unseen_share,
)

DRAWS = 10_000  # a 2.5 % quantile then rests on 250 draws: stable in the printed digits
SEED = 2310_09562  # any number does; this is the similarity paper's
_BOUNDS = ("low", "high")


def exact_interval(
    successes: Int64[np.ndarray, " n"] | Float64[np.ndarray, " n"],
    trials: Int64[np.ndarray, " n"] | Float64[np.ndarray, " n"],
    chosen_of: Int64[np.ndarray, " n"] | int = 1,
) -> Float64[np.ndarray, "n 2"]:
    """Return the Clopper-Pearson bounds (low, high) of each `successes` out of `trials`.

    `successes` may be sums of shares between 0 and 1, as in `beta_bounds`, and `trials` an
    effective number of at least 1 (Korn and Graubard). Each was chosen among `chosen_of` counts,
    such as the largest share: bounds are then Bonferroni's. Bounds are rounded to 12 decimals.
    Without trials they are NaN.

    >>> exact_interval(np.array([0, 8]), np.array([10, 10])).round(4).tolist()
    [[0.0, 0.3085], [0.4439, 0.9748]]
    """
    bounds = beta_bounds(successes, trials, chosen_of)
    bounds[trials == 0] = np.nan
    return bounds


def beta_bounds(
    successes: Int64[np.ndarray, " n"] | Float64[np.ndarray, " n"],
    trials: Int64[np.ndarray, " n"] | Float64[np.ndarray, " n"],
    chosen_of: Int64[np.ndarray, " n"] | int = 1,
) -> Float64[np.ndarray, "n 2"]:
    """Return the bounds of `exact_interval` for at least one trial each; both may be partial.

    If each trial gives a share between 0 and 1, the sum of these shares varies less than a count
    of the same mean, so the bounds hold for it too.

    >>> beta_bounds(np.array([7.5]), np.array([10])).round(4).tolist()
    [[0.3942, 0.9559]]
    """
    beyond = tail() / chosen_of
    failures = trials - successes
    # The beta quantile is undefined for a count of 0; the bound is then the end of the scale.
    some, lacks = np.where(successes == 0, 1, successes), np.where(failures == 0, 1, failures)
    low = np.where(successes == 0, 0.0, _beta_quantile(some, failures + 1, beyond))
    high = np.where(failures == 0, 1.0, _beta_quantile(successes + 1, lacks, 1 - beyond))
    return np.stack([low, high], axis=1).round(DECIMALS)  # (n, 2)


def _beta_quantile(
    a: Float64[np.ndarray, " n"] | Int64[np.ndarray, " n"],
    b: Float64[np.ndarray, " n"] | Int64[np.ndarray, " n"],
    share: Float64[np.ndarray, " n"] | float,
) -> Float64[np.ndarray, " n"]:
    """Return the quantile of each beta distribution below which it has this share.

    scipy's is wrong for some parameters, such as 1,000 and 10^9 (Boost's `ibeta_inv`). A quantile
    that does not have its share, to a thousandth of the tail, is searched for by bisection.
    """
    from scipy.optimize import bisect  # imported here, since most tables need no scipy
    from scipy.special import betainc, betaincinv

    a, b, share = np.broadcast_arrays(a, b, share)
    found = np.array(betaincinv(a, b, share))
    wrong = abs(betainc(a, b, found) - share) > np.minimum(share, 1 - share) / 1000
    for at in np.flatnonzero(wrong):
        own = (float(a[at]), float(b[at]), float(share[at]))
        found[at] = bisect(_excess, 0, 1, own, xtol=10.0 ** -(DECIMALS + 2))
    return found


def _excess(value: float, a: float, b: float, share: float) -> float:
    """Return by how much the share of a beta distribution below a value exceeds this one."""
    from scipy.special import betainc

    return float(betainc(a, b, value) - share)


def grouped_share_bounds(
    share: float, variance: float, groups: int, trials: int
) -> Float64[np.ndarray, " 2"]:
    """Return the bounds (low, high) of a share of trials that come in groups, within 0 and 1.

    `share` is the mean over `groups` of the share in each, `variance` that of this mean, `trials`
    their number in all. Within four standard errors of an end of the scale, Student's interval over
    the groups is too narrow; it is then widened to that of Korn and Graubard (Survey Methodology
    24, 1998, 193-201), the exact one for as many independent trials as have this variance. If all
    groups agree, each counts as one trial. NaN for one group.

    >>> grouped_share_bounds(0.5, 0.0004, 40, 1720).round(4).tolist()
    [0.4595, 0.5405]
    >>> grouped_share_bounds(1.0, 0.0, 40, 1720).round(4).tolist()
    [0.9119, 1.0]
    """
    if groups < 2:
        return np.full(2, np.nan)
    factor = student_quantile(groups - 1)
    half = factor * sqrt(variance)
    bounds = np.array([share - half, share + half])
    if not 4 * sqrt(variance) < min(share, 1 - share):
        alike = float(groups)
        if (variance := round(variance, 2 * DECIMALS)) > 0:
            smaller = (student_quantile(trials - 1) / factor) ** 2
            alike = min(share * (1 - share) / variance * smaller, float(trials))
        low, high = beta_bounds(np.array([share * alike]), np.array([alike]))[0]
        bounds = np.array([min(low, bounds[0]), max(high, bounds[1])])
    return bounds.clip(0, 1).round(DECIMALS)


def relative_change_interval(
    kept: Int64[np.ndarray, " n"],
    lost: Int64[np.ndarray, " n"],
    gained: Int64[np.ndarray, " n"],
    neither: Int64[np.ndarray, " n"],
) -> Float64[np.ndarray, "n 2"]:
    """Return the bootstrap bounds (low, high) of each relative change of accuracy.

    The four counts sort the images by which model was right: both (`kept`), only the baseline
    (`lost`), only the other (`gained`), neither. The change is (gained - lost) / (kept + lost).
    Equal counts give equal bits. Bounds are NaN if some draw has no right answer of the baseline:
    below about ten, a relative change has no interval worth printing. Resampling cannot produce
    unseen kinds, so a bound is at least as far from the change as an `unseen_share` of the images
    would move it: models that agree on every image may differ on others.

    >>> counts = [np.array([count]) for count in (40, 10, 5, 45)]
    >>> relative_change_interval(*counts).round(2).tolist()
    [[-0.24, 0.06]]
    """
    counts = np.stack([kept, lost, gained, neither], axis=1)  # (n, 4)
    is_right, was_right = np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0])
    bounds = [change_bounds(count, is_right, was_right) for count in counts]
    return np.array(bounds, dtype=np.float64).reshape(len(counts), 2)


def change_bounds(
    counts: Int64[np.ndarray, " kinds"],
    right: Int64[np.ndarray, " kinds"],
    was_right: Int64[np.ndarray, " kinds"],
    chosen_of: int = 1,
) -> Float64[np.ndarray, " 2"]:
    """Return the bounds of one relative change over images; `relative_change_interval`.

    A kind has `counts` images. The model was right `right` times on each of them, the baseline
    `was_right` times. The order of the kinds affects the draws. The change was chosen among
    `chosen_of` changes, as in `exact_interval`.
    """
    total = counts.sum()
    if total == 0:
        return np.full(2, np.nan)
    drawn = _resampled(counts)
    before = drawn @ was_right  # (DRAWS,): right answers of the baseline
    if not before.all():
        return np.full(2, np.nan)
    low, high = _middle((drawn @ right - before) / before, chosen_of)
    base = counts @ was_right
    change = (counts @ right - base) / base
    unseen = unseen_share(int(total), chosen_of) * total * was_right.max() / base
    bounds = np.array([min(low, change - unseen), max(high, change + unseen)])
    return bounds.clip(min=-1).round(DECIMALS)


def kappa_interval(
    both: Int64[np.ndarray, " n"],
    first: Int64[np.ndarray, " n"],
    second: Int64[np.ndarray, " n"],
    neither: Int64[np.ndarray, " n"],
) -> Float64[np.ndarray, "n 2"]:
    """Return the bootstrap bounds (low, high) of Cohen's kappa of each pair of yes-or-no decisions.

    The four counts sort things by the decisions that say yes: both, only the first, only the
    second, neither. Things are resampled by a multinomial draw of the four counts; the basis of the
    decisions, such as test images, stays fixed. Resampling cannot produce unseen kinds, so the
    interval also reaches to the bounds of Jeffreys' posterior, Dirichlet draws of the counts plus a
    half (Brown, Cai and DasGupta, Statistical Science 2001, for two kinds). Bounds are NaN if in
    some draw both give only one answer, for which kappa is undefined.

    >>> counts = [np.array([count]) for count in (40, 10, 5, 45)]
    >>> kappa_interval(*counts).round(2).tolist()
    [[0.54, 0.83]]
    """
    counts = np.stack([both, first, second, neither], axis=1)  # (n, 4)
    bounds = [_kappa_bounds(count) for count in counts]
    return np.array(bounds, dtype=np.float64).reshape(len(counts), 2)


def _kappa_bounds(counts: Int64[np.ndarray, " 4"]) -> Float64[np.ndarray, " 2"]:
    total = counts.sum()
    if total == 0:
        return np.full(2, np.nan)
    drawn = _kappas(_resampled(counts))
    if np.isnan(drawn).any():
        return np.full(2, np.nan)
    posterior = _kappas(np.random.default_rng(SEED).dirichlet(counts + 0.5, size=DRAWS))
    bounds = np.stack([_middle(drawn), _middle(posterior)])  # (2, 2)
    return np.array([bounds[:, 0].min(), bounds[:, 1].max()])


def _kappas(
    drawn: Int64[np.ndarray, "draws 4"] | Float64[np.ndarray, "draws 4"],
) -> Float64[np.ndarray, " draws"]:
    """Return Cohen's kappa of each draw of counts or shares, NaN where it is undefined."""
    both, first, second, neither = drawn.T.astype(np.float64)  # products may exceed 64 bits
    by_chance = (both + first) * (first + neither) + (both + second) * (second + neither)
    found = np.full(len(drawn), np.nan)
    np.divide(2 * (both * neither - first * second), by_chance, out=found, where=by_chance > 0)
    return found


def _resampled(counts: Int64[np.ndarray, " kinds"]) -> Int64[np.ndarray, "draws kinds"]:
    """Return the counts of each kind in DRAWS draws of as many things, at least one."""
    generator = np.random.default_rng(SEED)  # new each time: a bound depends only on its own counts
    total = counts.sum()
    return generator.multinomial(total, counts / total, size=DRAWS)


def _middle(drawn: Float64[np.ndarray, " draws"], chosen_of: int = 1) -> Float64[np.ndarray, " 2"]:
    """Return the bounds of the middle 95 % of drawn values, or of more by Bonferroni."""
    beyond = tail(chosen_of)
    bounds: Float64[np.ndarray, " 2"] = np.quantile(
        drawn, [beyond, 1 - beyond], method="inverted_cdf"
    )
    return bounds.round(DECIMALS)


def register_intervals(connection: duckdb.DuckDBPyConnection) -> None:
    """Register this module's SQL functions, which return structs (low, high) or null.

    `exact_interval`, `relative_change_interval` and `kappa_interval` take bigint counts, in the
    order of the Python functions with these names; `share_interval` is `exact_interval` of
    doubles, `chosen_interval` the same with a bigint `chosen_of`. `grouped_share_bounds` takes a
    share, a variance and two counts. A null argument and an interval that does not exist give null.
    """

    # DuckDB takes the number of arguments from the signature, so one wrapper cannot serve all.
    def exact(successes: pa.ChunkedArray, trials: pa.ChunkedArray) -> pa.Array:
        return structs(exact_interval(*_counts(successes, trials)), _BOUNDS)

    def chosen(
        successes: pa.ChunkedArray, trials: pa.ChunkedArray, chosen_of: pa.ChunkedArray
    ) -> pa.Array:
        sums, numbers = _values(successes, trials)
        return structs(exact_interval(sums, numbers, _counts(chosen_of)[0].clip(1)), _BOUNDS)

    def share(successes: pa.ChunkedArray, trials: pa.ChunkedArray) -> pa.Array:
        return structs(exact_interval(*_values(successes, trials)), _BOUNDS)

    def change(
        kept: pa.ChunkedArray,
        lost: pa.ChunkedArray,
        gained: pa.ChunkedArray,
        neither: pa.ChunkedArray,
    ) -> pa.Array:
        counts = _counts(kept, lost, gained, neither)
        return structs(relative_change_interval(*counts), _BOUNDS)

    def kappa(
        both: pa.ChunkedArray,
        first: pa.ChunkedArray,
        second: pa.ChunkedArray,
        neither: pa.ChunkedArray,
    ) -> pa.Array:
        return structs(kappa_interval(*_counts(both, first, second, neither)), _BOUNDS)

    def grouped(
        shares: pa.ChunkedArray,
        variances: pa.ChunkedArray,
        groups: pa.ChunkedArray,
        trials: pa.ChunkedArray,
    ) -> pa.Array:
        rows = zip(*(each.to_pylist() for each in (shares, variances, groups, trials)), strict=True)
        none = np.full(2, np.nan)
        found = [none if None in row else grouped_share_bounds(*row) for row in rows]
        return structs(np.array(found, np.float64).reshape(-1, 2), _BOUNDS)

    of_groups = ["double", "double", "bigint", "bigint"]
    register_structs(connection, "grouped_share_bounds", grouped, of_groups, _BOUNDS)
    register_structs(connection, "exact_interval", exact, ["bigint"] * 2, _BOUNDS)
    of_choice = ["double", "double", "bigint"]
    register_structs(connection, "chosen_interval", chosen, of_choice, _BOUNDS)
    register_structs(connection, "kappa_interval", kappa, ["bigint"] * 4, _BOUNDS)
    register_structs(connection, "share_interval", share, ["double"] * 2, _BOUNDS)
    register_structs(connection, "relative_change_interval", change, ["bigint"] * 4, _BOUNDS)


def register_structs(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    function: Callable[..., pa.Array],
    parameters: Sequence[str],
    fields: Sequence[str],
) -> None:
    """Register an SQL function of Arrow columns that returns `structs` of these fields."""
    kind = f"struct({', '.join(f'{field} double' for field in fields)})"
    # without SPECIAL, DuckDB forbids nulls in the answer
    connection.create_function(
        name, function, [*parameters], kind, type=ARROW, null_handling=SPECIAL
    )


def structs(values: Float64[np.ndarray, "n fields"], fields: Sequence[str]) -> pa.Array:
    """Return rows of numbers as structs; null if one of them is NaN."""
    unknown = pa.array(np.isnan(values).any(axis=1))
    columns = [pa.array(column) for column in values.T]
    return pa.StructArray.from_arrays(columns, names=list(fields), mask=unknown)


def _counts(*columns: pa.ChunkedArray) -> Int64[np.ndarray, "columns n"]:
    return _values(*columns).astype(np.int64)


def _values(*columns: pa.ChunkedArray) -> Float64[np.ndarray, "columns n"]:
    """Return columns of numbers, all 0 if one is null: no trials, so no interval."""
    known = np.logical_and.reduce([np.asarray(column.is_valid()) for column in columns])  # (n,)
    values = np.stack([np.asarray(column.fill_null(0), dtype=np.float64) for column in columns])
    values[:, ~known] = 0
    return values
