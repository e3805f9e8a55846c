"""Draws, bootstraps and swaps of records, by how often each kind of record occurs.

A metric over records depends only on how many records there are of each kind - the distinct
outcomes -, so drawing records is a multinomial draw of the kinds' counts, and swapping target and
reference at random a binomial one. Neither costs more with more records.
"""

import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

DRAWS = 100  # Fig. 2: 100 repetitions of
SHARE = 10  # one record in ten, with replacement
BOOTSTRAPS = 2000  # a 2.5 % quantile then rests on 50 draws
SWAPS = 9999  # so that p values are multiples of 1/10,000
_CELLS = 1 << 22  # counts held at once: memory, never results


class Statistic(NamedTuple):
    """A metric as a function of how often each kind of record occurs.

    `counts` are those of all evaluated records, and `of` takes any draws' counts, a row each.
    """

    value: Fraction
    counts: Int64[np.ndarray, " kinds"]
    of: Callable[[np.ndarray], np.ndarray]
    # of a metric that is a mean over records: what each kind adds
    terms: Float64[np.ndarray, " kinds"] | None = None


class Estimate(NamedTuple):
    """A metric of one direction: its value, and its values under draws, bootstraps and swaps."""

    value: Fraction
    draws: Float64[np.ndarray, " draws"]
    bootstraps: Float64[np.ndarray, " bootstraps"]
    swaps: Float64[np.ndarray, " swaps"] | None


def estimate(statistic: Statistic, name: str, seed: int) -> Estimate:
    """Return a metric's value with its draws, which depend on `seed` and `name`; n is not 0."""
    n = int(statistic.counts.sum())
    swaps = None
    if statistic.terms is not None:
        generator = _generator(seed, f"{name} swaps")
        swaps = _swapped(statistic.terms, statistic.counts, generator) / n
    return Estimate(
        statistic.value,
        _drawn(statistic, max(n // SHARE, 1), DRAWS, _generator(seed, f"{name} draws")),
        _drawn(statistic, n, BOOTSTRAPS, _generator(seed, f"{name} bootstraps")),
        swaps,
    )


def _generator(seed: int, name: str) -> np.random.Generator:
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


def _swapped(
    terms: Float64[np.ndarray, " kinds"],
    counts: Int64[np.ndarray, " kinds"],
    generator: np.random.Generator,
) -> Float64[np.ndarray, " swaps"]:
    """Return the sum over records under random swaps: each record's term gets a sign by a coin."""
    sums = np.zeros(SWAPS)
    for size in np.unique(np.abs(terms[terms != 0])):  # kinds, not records
        records = int(counts[np.abs(terms) == size].sum())
        sums += size * (2 * generator.binomial(records, 0.5, size=SWAPS) - records)
    return sums


def mean_estimate(a: Estimate | None, b: Estimate | None) -> Estimate | None:
    """Return the mean of two directions; None where one has no records."""
    if a is None or b is None:
        return None
    swaps = None if a.swaps is None or b.swaps is None else (a.swaps + b.swaps) / 2
    return Estimate(
        (a.value + b.value) / 2,
        (a.draws + b.draws) / 2,
        (a.bootstraps + b.bootstraps) / 2,
        swaps,
    )


def swap_test(found: Estimate | None) -> float | None:
    """Return the share of swaps with a value at least as far from 0, the actual one included."""
    if found is None or found.swaps is None:
        return None
    # Sums of floats: what equals the actual value in real numbers may fall short by some bits.
    limit = abs(float(found.value)) * (1 - 1e-9) - 1e-15
    return float((1 + np.count_nonzero(np.abs(found.swaps) >= limit)) / (1 + SWAPS))
