"""Computes 95 % intervals of a mean over seeds, which may also vary by image or by record.

Another run would draw other seeds, and other images or records could be the sample: both are noise.
A bound's distance is Student's factor times the root of both variances, with Satterthwaite's (1946)
degrees of freedom: those of the seeds if only they vary, and as many as the records' own interval
takes if the seeds agree. These degrees are estimated, so with few seeds and both kinds of noise,
intervals cover less: 87, 92 and 94 % with two, three and five seeds. So a bound is never nearer
than the seeds alone would put it; intervals then cover 94 % or more.

With `chosen_of` results, of which any may be chosen, such as the lowest, bounds are Bonferroni's:
95 % intervals for all of them together.
"""

from math import sqrt
from statistics import NormalDist

import numpy as np
from jaxtyping import Float64

CONFIDENCE = 0.95
DECIMALS = 12  # more than needed, but without the last bits, in which builds of scipy may differ
NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def tail(chosen_of: int = 1) -> float:
    """Return the probability that a value lies beyond one bound of its interval.

    >>> round(tail(), 4), round(tail(10), 4)
    (0.025, 0.0025)
    """
    return (1 - CONFIDENCE) / 2 / chosen_of


def student_quantile(degrees: float, chosen_of: int = 1) -> float:
    """Return the factor of the standard error in Student's interval of a mean.

    >>> round(student_quantile(2), 6)
    4.302653
    """
    from scipy.special import stdtrit

    return round(float(stdtrit(degrees, 1 - tail(chosen_of))), DECIMALS)


def margin(of_records: float, of_seeds: float, degrees: int, chosen_of: int = 1) -> float:
    """Return the distance of a bound from its value.

    `of_records` is the distance over images or records alone, `of_seeds` the variance of the mean
    over seeds, with `degrees` degrees of freedom (one fewer than seeds).

    >>> round(margin(0.02, 0.0, 4), 4), round(margin(0.0, 0.01**2, 2), 4)
    (0.02, 0.043)
    """
    if of_seeds == 0:
        return of_records
    whole = (of_records / NormalDist().inv_cdf(1 - tail(chosen_of))) ** 2 + of_seeds
    both = student_quantile(degrees * (whole / of_seeds) ** 2, chosen_of) * sqrt(whole)
    return max(both, student_quantile(degrees, chosen_of) * sqrt(of_seeds))


def mean_over_seeds(
    value: Float64[np.ndarray, "seeds models"],
    low: Float64[np.ndarray, "seeds models"],
    high: Float64[np.ndarray, "seeds models"],
) -> tuple[float, float, float]:
    """Return the mean over seeds of the mean over the models of each, and its bounds.

    `low` and `high` are each model's own bounds, over records. Seeds may test the same records, so
    they do not average out the records' noise: over records, a bound's distance is the average of
    the models' own. The seeds' noise is added (see `margin`). There is at least one seed and one
    model.

    >>> agreeing = np.array([[0.5], [0.5]])
    >>> mean_over_seeds(agreeing, agreeing - 0.1, agreeing + 0.2)
    (0.5, 0.4, 0.7)
    """
    seeds = len(value)
    by_seed = value.mean(axis=1)
    of_seeds = float(by_seed.var(ddof=1)) / seeds if seeds > 1 else 0.0
    of_seeds = round(of_seeds, 2 * DECIMALS)
    mean = float(by_seed.mean())
    below, above = (
        margin(float(off.mean()), of_seeds, seeds - 1) for off in (value - low, high - value)
    )
    return round(mean, DECIMALS), round(mean - below, DECIMALS), round(mean + above, DECIMALS)


def unseen_share(drawn: int, chosen_of: int = 1) -> float:
    """Return the share of a kind of image or record that `drawn` of them miss in 2.5 % of draws.

    So images that agree are not certain, and no interval has zero width.

    >>> round(unseen_share(100), 4)
    0.0362
    """
    return float(1 - tail(chosen_of) ** (1 / drawn))
