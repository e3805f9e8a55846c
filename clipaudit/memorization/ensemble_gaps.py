"""Compute gaps over seeds, which hold beyond a single training run and cut.

A gap is the mean over seeds. Its interval is over records and seeds: a record's contribution over
all seeds is one draw of the records, and the seeds' gaps vary among themselves. Both parts are
added (see `margin`), so intervals are slightly too wide: the noise of single records under one seed
is in both.
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

# One row per (k, source, target, measure). Sources: all together, then each if there are several.
# Targets: mean, a, b, control; all but mean need a hold-out, and a and b are net of it. Measures:
# ppg, prg, aucg.
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
    found: dict[tuple[int, str, str], tuple[_Moments, _Moments | None]] = {}
    for part in parts:
        for k, block in blocks(part, neighbors):
            for measure in TERMS:
                for source in (ALL, part.source):
                    place = k, source, measure
                    summed = _summed(block, measure)
                    if place in found:
                        summed = _both(found[place], summed)
                    found[place] = summed
    shown = [ALL, *sources] if len(sources) > 1 else [ALL]
    rows = [
        {"k": k, "source": source, "target": target, "measure": measure, **row}
        for k in neighbors
        for source in shown
        for target in _CONTRASTS
        for measure in TERMS
        if (k, source, measure) in found
        for row in _rows(*found[k, source, measure], np.array(_CONTRASTS[target]))
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


def _summed(block: Block, measure: str) -> tuple[_Moments, _Moments | None]:
    """Return the moments of a block's differences, and of their changes."""
    by_set = block.sets[:, :, None] == np.arange(len(RECORD_SETS))
    inside = by_set.reshape(len(block.sets), -1).astype(np.float64)
    changes = _Moments.of(block.changes[measure], inside) if block.changes else None
    return _Moments.of(block.differences[measure], inside), changes


def _both(
    one: tuple[_Moments, _Moments | None], other: tuple[_Moments, _Moments | None]
) -> tuple[_Moments, _Moments | None]:
    changes = one[1] + other[1] if one[1] and other[1] else None
    return one[0] + other[0], changes


def _rows(
    values: _Moments, changes: _Moments | None, contrast: Float64[np.ndarray, " sets"]
) -> list[dict[str, object]]:
    """Return the row of a target, or no row if a set that it needs has no records."""
    counts = np.diag(values.counts).reshape(-1, len(contrast))
    needed = counts[:, contrast != 0]
    if not needed.all():
        return []
    by_seed, value, half = _estimate(values, contrast)
    limit = float(np.abs(contrast).sum())  # each mean is within -1 and 1
    row: dict[str, object] = {
        "seeds": len(counts),
        "evaluated": int(needed[0].sum()),
        "by_seed": by_seed,
        "value": value,
        "low": max(value - half, -limit),
        "high": min(value + half, limit),
    }
    if changes is not None:
        _, change, half = _estimate(changes, contrast)
        row |= {"change": change, "change_low": change - half, "change_high": change + half}
    return [row]


def _estimate(
    moments: _Moments, contrast: Float64[np.ndarray, " sets"]
) -> tuple[list[float], float, float]:
    """Return the contrast under each seed, its mean, and the distance of its bounds."""
    n = np.maximum(np.diag(moments.counts), 1)
    means = moments.sums / n
    seeds = len(n) // len(contrast)
    factors = np.tile(contrast, seeds)
    by_seed = (factors * means).reshape(seeds, -1).sum(axis=1)
    # products of the records' deviations, each from the mean of its set
    centred = (
        moments.products
        - moments.crosses * means[None, :]
        - moments.crosses.T * means[:, None]
        + moments.counts * np.outer(means, means)
    )
    weights = factors / (n * seeds)
    over_records = NORMAL * np.sqrt(max(float(weights @ centred @ weights), 0.0))
    over_records = max(over_records, unseen_share(int(n[factors != 0].min())))
    over_seeds = float(by_seed.var(ddof=1)) / seeds if seeds > 1 else 0.0
    rounded = [round(float(each), DECIMALS) + 0.0 for each in by_seed]
    half = margin(over_records, round(over_seeds, 2 * DECIMALS), seeds - 1)
    return rounded, round(float(by_seed.mean()), DECIMALS) + 0.0, round(half, DECIMALS)
