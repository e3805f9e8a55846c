"""Measures how many made copies a method finds, and how many pairs that are not copies.

Copies are made of originals (`copies.transformations`), and every copy is compared with every
original. `copies.calibration_pairs` says which of these pairs count, and what their values mean.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float64, Int64, Num

from clipaudit.copies.calibration_pairs import MadeCopies, Spared, separate
from clipaudit.copies.thresholds import Curve, allowed_positives
from clipaudit.copies.transformations import WAYS, Way

LARGEST_DISTANCE = 127  # two unrelated images differ in half of a hash's 256 bits
SHOWN_OWN = 100  # candidate similarities at quantiles of the own pairs
SHOWN_NEGATIVE = 99  # and among the nearest negative pairs: with the chosen one, 200 at most

CALIBRATION = pa.schema(
    [
        pa.field("method", pa.string(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),  # in the list of ways, from 0
        pa.field("transformation", pa.string(), nullable=False),
        pa.field("strength", pa.float64(), nullable=False),
        pa.field("label", pa.string(), nullable=False),  # the strength, as shown
        pa.field("original", pa.int32(), nullable=False),  # its number among the originals
        pa.field("found", pa.bool_()),  # null: no threshold was chosen
        pa.field("verified", pa.bool_()),  # found and a copy by its pixels; null: not verified
    ]
)


class Measured(NamedTuple):
    """The curve of a method, and the distance or similarity of each copy's own pair."""

    curve: Curve
    own: Num[np.ndarray, " c"]


def measure_distances(
    copies: MadeCopies,
    repeats: Int64[np.ndarray, "r 2"],
    blocks: Iterable[np.ndarray],
    *,
    originals: int,
    largest: int = LARGEST_DISTANCE,
    also_found: Bool[np.ndarray, " c"] | None = None,
) -> Measured:
    """Return what each of the distances 0 to `largest` finds: the pairs at most that far apart.

    A block, `Integer["m originals"]`, holds the distances of the next m copies to all originals.
    Blocks are read once, and one is held. `repeats` are pairs of originals that are copies of each
    other; a chain of them counts only if all its pairs are given. `also_found` are the copies that
    are found in another way, at every distance. Raises ValueError for blocks that do not fit the
    copies.
    """
    own = [np.empty(0, np.int64)]
    counts = np.zeros(largest + 2, np.int64)  # the last one: beyond all thresholds
    for mine, negatives in separate(copies, Spared(repeats, originals), blocks):
        own.append(mine.astype(np.int64))
        counts += np.bincount(np.minimum(negatives, largest + 1), minlength=largest + 2)
    distances, thresholds = np.concatenate(own), np.arange(largest + 1)
    nearest = distances if also_found is None else np.where(also_found, 0, distances)
    found = _count_within(nearest, thresholds)
    pairs = int(counts.sum())
    return Measured(
        Curve(thresholds, counts[:-1].cumsum(), found, pairs, len(distances)), distances
    )


def measure_similarities(
    copies: MadeCopies,
    repeats: Int64[np.ndarray, "r 2"],
    blocks: Callable[[], Iterable[np.ndarray]],
    *,
    originals: int,
    per_million: float = 1.0,
    given: float | None = None,
) -> Measured:
    """Return what up to 200 similarities find: the pairs at least that similar.

    As `measure_distances`, but blocks are `Float64["m originals"]`, and read twice: each call of
    `blocks` gives them again. Thresholds are similarities that occur, and the `given` one. One of
    them is exactly the loosest with at most `per_million` false positives per million negative
    pairs. To find it, the nearest negative pairs are held, one more than the rate allows. Without
    copies there are no thresholds.
    """
    spared = Spared(repeats, originals)
    pairs = spared.count_negatives(copies)
    allowed = allowed_positives(pairs, per_million)
    own, nearest = [np.empty(0)], _Smallest(allowed + 1)
    for mine, negatives in separate(copies, spared, blocks()):
        own.append(-mine)  # negated, so that nearer is smaller here too
        nearest.add(-negatives)
    distances = np.concatenate(own)
    thresholds = _candidates(distances, nearest.sorted(), allowed)
    if given is not None and len(distances):
        thresholds = np.union1d(thresholds, -given)
    counts = np.zeros(len(thresholds), np.int64)
    for _, negatives in separate(copies, spared, blocks()):
        counts += _count_within(-negatives, thresholds)
    found = _count_within(distances, thresholds)
    # 0.0 - x: a negated 0 would be -0.0
    return Measured(Curve(0.0 - thresholds, counts, found, pairs, len(distances)), 0.0 - distances)


def calibration_table(
    method: str,
    copies: MadeCopies,
    found: Bool[np.ndarray, " c"] | None,
    verified: Bool[np.ndarray, " c"] | None = None,
    *,
    ways: Sequence[Way] = WAYS,
) -> pa.Table:
    """Return CALIBRATION of one method, one row per copy, in the order of `copies`.

    `found` says whether each copy's own pair is within the chosen threshold, and is None if no
    threshold was chosen. `verified` says whether verification calls each copy's own pair a copy,
    counts for found copies only, and is None if nothing was verified.
    """
    own = [ways[position] for position in copies.position.tolist()]
    both = None if found is None or verified is None else found & verified
    columns = {
        "method": [method] * len(own),
        "position": copies.position.astype(np.int32),
        "transformation": [way.transformation for way in own],
        "strength": [float(way.value) for way in own],
        "label": [way.label for way in own],
        "original": copies.original.astype(np.int32),
        "found": pa.nulls(len(own), pa.bool_()) if found is None else found,
        "verified": pa.nulls(len(own), pa.bool_()) if both is None else both,
    }
    return pa.table(columns, schema=CALIBRATION)


def _count_within(
    values: Num[np.ndarray, " v"], thresholds: Num[np.ndarray, " t"]
) -> Int64[np.ndarray, " t"]:
    """Return how many values are at most each threshold; thresholds ascend."""
    if len(thresholds):
        values = values[values <= thresholds[-1]]
    first = np.searchsorted(thresholds, values)
    return np.bincount(first, minlength=len(thresholds) + 1)[:-1].cumsum()


def _candidates(
    own: Float64[np.ndarray, " c"], negatives: Float64[np.ndarray, " k"], allowed: int
) -> Float64[np.ndarray, " t"]:
    """Return ascending thresholds: quantiles of both, and the largest value that fits the rate.

    `negatives` ascend; the one at `allowed` is the first that may not be within.
    """
    own = np.sort(own[np.isfinite(own)])
    negatives = negatives[np.isfinite(negatives)]
    limit = negatives[allowed] if len(negatives) > allowed else np.inf
    observed = np.concatenate([own, negatives])
    fitting = observed[observed < limit]
    loosest = [fitting.max()] if len(fitting) else []
    shown = [_evenly(own, SHOWN_OWN), _evenly(negatives, SHOWN_NEGATIVE), np.array(loosest)]
    return np.unique(np.concatenate(shown).astype(np.float64))


def _evenly(values: Float64[np.ndarray, " v"], count: int) -> Float64[np.ndarray, " w"]:
    """Return up to `count` sorted values, evenly by rank, including the first and the last."""
    ranks = np.linspace(0, max(0, len(values) - 1), min(count, len(values))).round()
    return values[ranks.astype(np.int64)]


class _Smallest:
    """The k smallest of all values that were added."""

    def __init__(self, k: int) -> None:
        self._k = k
        self._kept = np.empty(0)

    def add(self, values: Float64[np.ndarray, " v"]) -> None:
        if len(self._kept) == self._k:
            values = values[values < self._kept.max()]
        kept = np.concatenate([self._kept, values])
        self._kept = np.partition(kept, self._k - 1)[: self._k] if len(kept) > self._k else kept

    def sorted(self) -> Float64[np.ndarray, " k"]:
        return np.sort(self._kept)
