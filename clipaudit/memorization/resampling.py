"""Draw, bootstrap and permute records by their kinds.

A metric over records depends only on the number of records of each kind: of each distinct outcome.
So drawing records is a multinomial draw of the kinds' counts, and drawing the records that a model
was trained on is a hypergeometric one. Neither costs more with more records.
"""

import hashlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from clipaudit.evaluation.student import CONFIDENCE, unseen_share

DRAWS = 100  # repetitions in Fig. 2
SHARE = 10  # each draws one record in ten, with replacement
BOOTSTRAPS = 2000  # a 2.5 % quantile then rests on 50 draws
PERMUTATIONS = 9999  # so that p values are multiples of 1/10,000
_CELLS = 1 << 22  # counts held at once: affects only memory


class Statistic(NamedTuple):
    """A metric as a function of the number of records of each kind.

    `counts` are those of all evaluated records, and `of` takes the counts of draws, one row each.
    """

    value: Fraction
    counts: Int64[np.ndarray, " kinds"]
    of: Callable[[np.ndarray], np.ndarray]
    limit: Fraction = Fraction(1)  # its largest possible distance from 0


class Estimate(NamedTuple):
    """A metric of some records: its value, and its values under draws and bootstraps."""

    value: Fraction
    draws: Float64[np.ndarray, " draws"]
    bootstraps: Float64[np.ndarray, " bootstraps"]
    fewest: int  # records of the smallest set
    limit: Fraction  # the largest possible distance of a value from 0

    def plus(self, other: "Estimate") -> "Estimate":
        """Return the sum with the metric of other records, drawn independently."""
        return Estimate(
            self.value + other.value,
            self.draws + other.draws,
            self.bootstraps + other.bootstraps,
            min(self.fewest, other.fewest),
            self.limit + other.limit,
        )

    def times(self, factor: Fraction) -> "Estimate":
        """Return a multiple of the metric."""
        return Estimate(
            self.value * factor,
            self.draws * float(factor),
            self.bootstraps * float(factor),
            self.fewest,
            self.limit * abs(factor),
        )

    def bounds(self) -> tuple[float, float]:
        """Return a 95 % interval over records: percentiles of the bootstraps, within the limit.

        A bound is at least the `unseen_share` of the smallest set away from the value.
        """
        low, high = np.quantile(
            self.bootstraps, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="inverted_cdf"
        ).tolist()
        unseen = unseen_share(self.fewest)
        value, limit = float(self.value), float(self.limit)
        return max(min(low, value - unseen), -limit), min(max(high, value + unseen), limit)


def estimate(statistic: Statistic, name: str, seed: int) -> Estimate:
    """Return a metric's value with its draws, which depend on `seed` and `name`; n is not 0."""
    n = int(statistic.counts.sum())
    return Estimate(
        statistic.value,
        _drawn(statistic, max(n // SHARE, 1), DRAWS, generator(seed, f"{name} draws")),
        _drawn(statistic, n, BOOTSTRAPS, generator(seed, f"{name} bootstraps")),
        n,
        statistic.limit,
    )


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the generator of one purpose: a function of seed and name alone."""
    digest = hashlib.sha256(name.encode()).digest()
    words = [int.from_bytes(digest[at : at + 4], "big") for at in range(0, len(digest), 4)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))


def _drawn(
    statistic: Statistic, size: int, draws: int, generator: np.random.Generator
) -> Float64[np.ndarray, " draws"]:
    """Return the statistic of `draws` draws of `size` records each, with replacement."""
    shares = statistic.counts / statistic.counts.sum()
    step = max(_CELLS // len(shares), 1)
    parts = [
        statistic.of(generator.multinomial(size, shares, size=min(step, draws - start)))
        for start in range(0, draws, step)
    ]
    return np.concatenate(parts)


class Stratum(NamedTuple):
    """Records of one source: each kind's term of a sum, and its numbers of records in A and B."""

    terms: Float64[np.ndarray, " kinds"]
    in_a: Int64[np.ndarray, " kinds"]
    in_b: Int64[np.ndarray, " kinds"]


def membership_test(strata: Sequence[Stratum], generator: np.random.Generator) -> float | None:
    """Return a two-sided p of "membership changes nothing": None without records of A or of B.

    The statistic is the mean of the terms over A minus that over B. Membership was drawn by lot in
    each source, so without an effect any other draw of equal size is as likely. The p value is the
    share of PERMUTATIONS such draws, and the actual one, with a statistic at least as far from 0.
    """
    sizes = [(int(each.in_a.sum()), int(each.in_b.sum())) for each in strata]
    n_a, n_b = (sum(column) for column in zip(*sizes, strict=True)) if sizes else (0, 0)
    if not n_a or not n_b:
        return None
    whole = sum(float(each.terms @ (each.in_a + each.in_b)) for each in strata)
    found = sum(float(each.terms @ each.in_a) for each in strata)
    drawn = np.zeros(PERMUTATIONS)
    for (size, _), (terms, in_a, in_b) in zip(sizes, strata, strict=True):
        drawn += _sums(terms, in_a + in_b, size, generator)
    actual, permuted = (sums / n_a - (whole - sums) / n_b for sums in (np.array([found]), drawn))
    # Sums of floats: equal real numbers may differ by some bits.
    limit = abs(float(actual[0])) * (1 - 1e-9) - 1e-15
    return float((1 + np.count_nonzero(np.abs(permuted) >= limit)) / (1 + PERMUTATIONS))


def _sums(
    terms: Float64[np.ndarray, " kinds"],
    counts: Int64[np.ndarray, " kinds"],
    size: int,
    generator: np.random.Generator,
) -> Float64[np.ndarray, " permutations"]:
    """Return the sum of the terms of `size` records drawn without replacement, many times."""
    step = max(_CELLS // max(len(counts), 1), 1)
    parts = [
        generator.multivariate_hypergeometric(
            counts, size, size=min(step, PERMUTATIONS - start), method="marginals"
        )
        @ terms
        for start in range(0, PERMUTATIONS, step)
    ]
    return np.concatenate(parts)
