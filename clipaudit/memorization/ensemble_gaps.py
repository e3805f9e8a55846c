"""Compute gaps over seeds, which hold beyond a single training run and cut.

A gap is the mean over seeds. Its interval is over records and seeds: a record's contribution over
all seeds is one draw of the records, and the seeds' gaps vary among themselves. Both parts are
added (see `margin`), so intervals are slightly too wide: the noise of single records under one seed
is in both. In a value net of the hold-out, each source of the hold-out counts as much as it does in
A or B: the models may differ by source.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float64

from clipaudit.evaluation.student import DECIMALS, NORMAL, margin, unseen_share
from clipaudit.memorization.ensembles import Block, EnsemblePart, blocks
from clipaudit.memorization.fixed import RECORD_SETS
from clipaudit.memorization.gaps import ALL, TERMS

# by target, the factors of the means over A, B and hold-out of A's model minus B's
_CONTRASTS = {
    "mean": (0.5, -0.5, 0.0),
    "a": (1.0, 0.0, -1.0),
    "b": (0.0, -1.0, 1.0),
    "control": (0.0, 0.0, 1.0),
}
_HOLDOUT = RECORD_SETS.index("holdout")

# One row per (k, source, target, measure). Sources: all together, then each if there are several.
# Targets: mean, a, b, control; all but mean need a hold-out, and a and b are net of it, for which
# it needs their sources. Measures: ppg, prg, aucg.
ENSEMBLE_GAPS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("source", pa.string(), nullable=False),  # "": all together
        pa.field("target", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),
        pa.field("seeds", pa.int32(), nullable=False),
        pa.field("evaluated", pa.int64(), nullable=False),  # records of the first seed's sets
        pa.field("by_seed", pa.list_(pa.field("value", pa.float64(), nullable=False))),
        pa.field("value", pa.float64(), nullable=False),  # the mean over seeds
        pa.field("low", pa.float64(), nullable=False),  # 95 %, over records and seeds
        pa.field("high", pa.float64(), nullable=False),
        # minus the value of the models to compare with, seed by seed; null without any
        pa.field("change", pa.float64()),
        pa.field("change_low", pa.float64()),
        pa.field("change_high", pa.float64()),
    ]
)


def ensemble_gaps(
    parts: Iterable[EnsemblePart], sources: Sequence[str], *, neighbors: Sequence[int]
) -> pa.Table:
    """Return the ENSEMBLE_GAPS of models under several seeds, with each number of neighbours.

    `sources` name those of the parts, in the order of the rows. Parts are held one at a time and
    may be in any order, which changes numbers only from the thirteenth decimal. A target is left
    out if a set has no records for it. Raises InputError as `blocks`.
    """
    found: dict[tuple[int, str, str], _Summed] = {}
    for part in parts:
        for k, block in blocks(part, neighbors):
            for measure in TERMS:
                place = k, part.source, measure
                summed = _summed(block, measure)
                found[place] = _both(found[place], summed) if place in found else summed
    groups = {ALL: sources} | {name: [name] for name in sources if len(sources) > 1}
    rows = [
        {"k": k, "source": group, "target": target, "measure": measure, **row}
        for k in neighbors
        for group, members in groups.items()
        for target in _CONTRASTS
        for measure in TERMS
        if (
            of_group := [found[k, name, measure] for name in members if (k, name, measure) in found]
        )
        for row in _rows(of_group, np.array(_CONTRASTS[target]))
    ]
    return pa.Table.from_pylist(rows, ENSEMBLE_GAPS)


@dataclass(frozen=True)
class _Moments:
    """Sums over records of x and of 1, and of their products; one column per seed and set.

    In the column of the record's set under a seed, x is its difference; in other columns x and the
    1 are 0.
    """

    sums: Float64[np.ndarray, " columns"]
    products: Float64[np.ndarray, "columns columns"]  # x with x
    crosses: Float64[np.ndarray, "columns columns"]  # x with 1
    counts: Float64[np.ndarray, "columns columns"]  # 1 with 1

    @staticmethod
    def of(
        values: Float64[np.ndarray, "n seeds"], inside: Float64[np.ndarray, "n columns"]
    ) -> "_Moments":
        x = np.repeat(values, len(RECORD_SETS), axis=1) * inside
        return _Moments(x.sum(axis=0), x.T @ x, x.T @ inside, inside.T @ inside)

    def __add__(self, other: "_Moments") -> "_Moments":
        return _Moments(
            self.sums + other.sums,
            self.products + other.products,
            self.crosses + other.crosses,
            self.counts + other.counts,
        )


_Summed = tuple[_Moments, _Moments | None]


def _summed(block: Block, measure: str) -> _Summed:
    """Return the moments of a block's differences, and of their changes."""
    by_set = block.sets[:, :, None] == np.arange(len(RECORD_SETS))
    columns = block.sets.shape[1] * len(RECORD_SETS)
    inside = by_set.reshape(-1, columns).astype(np.float64)
    changes = _Moments.of(block.changes[measure], inside) if block.changes else None
    return _Moments.of(block.differences[measure], inside), changes


def _both(one: _Summed, other: _Summed) -> _Summed:
    changes = one[1] + other[1] if one[1] and other[1] else None
    return one[0] + other[0], changes


def _rows(
    by_source: Sequence[_Summed], contrast: Float64[np.ndarray, " sets"]
) -> list[dict[str, object]]:
    """Return the row of a target, or no row if a set that it needs lacks records."""
    values = [each for each, _ in by_source]
    changes = [each for _, each in by_source if each is not None]
    weights = _weights(values, contrast)
    if weights is None:
        return []
    by_seed, value, half = _estimate(values, contrast, weights)
    limit = float(np.abs(contrast).sum())  # each mean is within -1 and 1
    row: dict[str, object] = {
        "seeds": len(by_seed),
        "evaluated": int(sum(_counts(each, contrast)[0, contrast != 0].sum() for each in values)),
        "by_seed": by_seed,
        "value": value,
        "low": max(value - half, -limit),
        "high": min(value + half, limit),
    }
    if changes:
        _, change, half = _estimate(changes, contrast, weights)
        row |= {"change": change, "change_low": change - half, "change_high": change + half}
    return [row]


def _counts(
    moments: _Moments, contrast: Float64[np.ndarray, " sets"]
) -> Float64[np.ndarray, "seeds sets"]:
    """Return the number of records in each set under each seed."""
    return np.diag(moments.counts).reshape(-1, len(contrast))


def _weights(
    by_source: Sequence[_Moments], contrast: Float64[np.ndarray, " sets"]
) -> Float64[np.ndarray, "sources seeds sets"] | None:
    """Return each source's share in the mean of a set; None if a set lacks needed records.

    The hold-out has the shares of the set that it is subtracted from, or else its own.
    """
    counts = np.stack([_counts(each, contrast) for each in by_source])
    wanted = counts.copy()
    if contrast[_HOLDOUT] and contrast[:_HOLDOUT].any():
        wanted[:, :, _HOLDOUT] = counts[:, :, int(np.flatnonzero(contrast)[0])]
    needed = contrast != 0
    totals = wanted.sum(axis=0)
    if not totals[:, needed].all() or ((counts == 0) & (wanted > 0))[:, :, needed].any():
        return None
    weights: np.ndarray = wanted / np.maximum(totals, 1)
    return weights


def _estimate(
    by_source: Sequence[_Moments],
    contrast: Float64[np.ndarray, " sets"],
    weights: Float64[np.ndarray, "sources seeds sets"],
) -> tuple[list[float], float, float]:
    """Return the contrast under each seed, its mean, and the distance of its bounds."""
    by_seed, variance = np.zeros(weights.shape[1]), 0.0
    for moments, weight in zip(by_source, weights, strict=True):
        n = np.maximum(np.diag(moments.counts), 1)
        means = moments.sums / n
        factors = (contrast * weight).ravel()
        by_seed += (factors * means).reshape(len(by_seed), -1).sum(axis=1)
        # products of the records' deviations, each from the mean of its set
        centred = (
            moments.products
            - moments.crosses * means[None, :]
            - moments.crosses.T * means[:, None]
            + moments.counts * np.outer(means, means)
        )
        of_record = factors / (n * len(by_seed))
        variance += float(of_record @ centred @ of_record)
    counts = np.sum([_counts(each, contrast) for each in by_source], axis=0)
    fewest = int(counts[:, contrast != 0].min())
    over_records = max(NORMAL * np.sqrt(max(variance, 0.0)), unseen_share(fewest))
    over_seeds = float(by_seed.var(ddof=1)) / len(by_seed) if len(by_seed) > 1 else 0.0
    rounded = [round(float(each), DECIMALS) + 0.0 for each in by_seed]
    half = margin(over_records, round(over_seeds, 2 * DECIMALS), len(by_seed) - 1)
    return rounded, round(float(by_seed.mean()), DECIMALS) + 0.0, round(half, DECIMALS)
