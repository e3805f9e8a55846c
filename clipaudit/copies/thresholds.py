"""Chooses the threshold of a method for a given rate of false positives.

A negative pair is a made copy and an image that it does not copy. Pairs that share a copy or an
image are not independent, so the interval of a rate is too narrow where few images make many pairs.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64, Num

from clipaudit.copies.calibration_pairs import is_within
from clipaudit.reports.intervals import exact_interval

MILLION = 1_000_000
ADVISED_DISTANCE = 31  # by the hash's authors; taken where too few pairs measure the asked rate
FALSE_PER_IMAGE = 0.03  # false candidates for each training image, by default
# Pairs measure a rate at which they give so many false positives: where none occur, the 95 % bound
# is 3 out of their number (the rule of three).
MOST_UNRESOLVED = 3

THRESHOLDS = pa.schema(
    [
        pa.field("method", pa.string(), nullable=False),
        pa.field("threshold", pa.float64(), nullable=False),  # strictest first
        pa.field("negative_pairs", pa.int64(), nullable=False),
        pa.field("false_positives", pa.int64(), nullable=False),  # negative pairs within it
        pa.field("per_million", pa.float64()),  # null: there are no negative pairs
        pa.field("per_million_high", pa.float64()),  # the Clopper-Pearson bound of 95 %
        pa.field("recall", pa.float64()),  # share of the made copies found; null: there are none
        pa.field("chosen", pa.bool_(), nullable=False),
        # of the false positives, those that verification calls copies; null: not verified
        pa.field("verified_false_positives", pa.int64()),
        pa.field("asked_per_million", pa.float64(), nullable=False),
        pa.field("note", pa.string()),  # why no threshold was chosen, or what limits the choice
    ]
)


@dataclass(frozen=True, eq=False)
class Curve:
    """What each candidate threshold lets through, strictest first."""

    thresholds: Num[np.ndarray, " t"]
    false_positives: Int64[np.ndarray, " t"]
    found: Int64[np.ndarray, " t"]  # copies whose original is a candidate at the threshold
    negative_pairs: int
    copies: int


class Choice(NamedTuple):
    """The row of a curve that was chosen, or None, and a sentence that says why."""

    row: int | None
    threshold: float | None
    resolved: bool  # the negative pairs are enough to measure the asked rate
    why: str


def choose_threshold(
    curve: Curve, *, per_million: float = 1.0, advised: float | None = None
) -> Choice:
    """Return the loosest threshold with at most `per_million` false positives per million pairs.

    Fewer than 3 million / `per_million` negative pairs cannot measure that rate: one odd pair
    would decide. The choice is then the loosest threshold whose false positives do not show a
    higher rate (`allowed_positives`), and `resolved` is False. The choice is None if even the
    strictest threshold has more, or if there is no negative pair or no threshold.

    A distance beyond the `advised` one is chosen only if the upper bound of its rate is also
    within `per_million`. If the pairs cannot measure the rate, it is at most the advised one.

    A lower rate never gives a looser threshold.
    """
    choice = _by_rate(curve, per_million)
    is_exceeded = choice.threshold is None and curve.negative_pairs > 0
    if advised is None or is_exceeded:
        return choice
    if choice.threshold is not None and choice.threshold <= advised:
        return choice
    upper = _upper(curve.false_positives, np.full(len(curve.thresholds), curve.negative_pairs))
    certain = curve.thresholds[upper <= per_million]  # none without negative pairs: NaN
    if len(certain) and certain[-1] >= advised:
        threshold = float(certain[-1])
        return Choice(row_of(curve, threshold), threshold, True, _reason(curve, per_million))
    why = (
        f"{curve.negative_pairs:,} pairs of different images are too few to show that a looser "
        f"threshold lets at most {per_million:g} per million through, so the threshold is at most "
        f"{advised:g}, as the hash's authors advise."
    )
    return Choice(row_of(curve, advised), advised, False, why)


def row_of(curve: Curve, threshold: float) -> int | None:
    """Return the loosest row of a curve that is as strict as a threshold; None: no row is."""
    rows = int(is_within(curve.thresholds, threshold).sum())
    return rows - 1 if rows else None


def _by_rate(curve: Curve, per_million: float) -> Choice:
    allowed = allowed_positives(curve.negative_pairs, per_million)
    fitting = np.flatnonzero(curve.false_positives <= allowed)
    resolved = _share(curve.negative_pairs, per_million) >= MOST_UNRESOLVED
    if curve.negative_pairs == 0 or len(curve.thresholds) == 0:
        missing = "negative pairs" if curve.negative_pairs == 0 else "copies"
        return Choice(None, None, resolved, f"No threshold was chosen: there are no {missing}.")
    if len(fitting) == 0:
        return Choice(None, None, resolved, _excess(curve, per_million))
    row = int(fitting[-1])
    why = _reason(curve, per_million) if resolved else _limits(curve, row, per_million)
    return Choice(row, float(curve.thresholds[row]), resolved, why)


def default_rate(images: int) -> float:
    """Return the default rate of false candidates, per million pairs.

    It gives FALSE_PER_IMAGE for each training image, however many `images` are searched for.
    Verifying them takes 1 ms per training image, less than hashing it.
    """
    return MILLION * FALSE_PER_IMAGE / max(1, images)


def allowed_positives(pairs: int, per_million: float) -> int:
    """Return how many of `pairs` may be false positives at a rate.

    This is the exact share, rounded down, or, if larger, the largest count up to 3 whose 95 %
    Clopper-Pearson interval reaches down to the rate. A lower rate never allows more.

    >>> allowed_positives(30_000_000, 0.1), allowed_positives(999_999, 1), allowed_positives(9, 1)
    (3, 3, 0)
    """
    share = _share(pairs, per_million)
    if share >= MOST_UNRESOLVED or pairs == 0:
        return share
    counts = np.arange(min(pairs, MOST_UNRESOLVED) + 1)
    lower = exact_interval(counts, np.full(len(counts), pairs))[:, 0]
    return max(share, int(np.flatnonzero(lower * MILLION <= per_million)[-1]))


def _share(pairs: int, per_million: float) -> int:
    return math.floor(Fraction(repr(per_million)) * pairs / MILLION)


def thresholds_table(
    method: str,
    curve: Curve,
    choice: Choice,
    *,
    per_million: float = 1.0,
    verified_false_positives: int | None = None,
) -> pa.Table:
    """Return THRESHOLDS of one method, a row per candidate, strictest first.

    `verified_false_positives` counts the false positives of the chosen threshold that verification
    calls copies; it goes in the chosen row. A note goes in the chosen row if the pairs do not
    resolve the rate, and in the first row if no threshold was chosen.
    """
    rows = len(curve.thresholds)
    pairs = np.full(rows, curve.negative_pairs)
    chosen = np.arange(rows) == (-1 if choice.row is None else choice.row)
    noted = np.arange(rows) == (choice.row or 0)
    clear = choice.row is not None and choice.resolved
    columns = {
        "method": [method] * rows,
        "threshold": curve.thresholds.astype(np.float64),
        "negative_pairs": pairs,
        "false_positives": curve.false_positives,
        "per_million": _known(_shares(curve.false_positives, curve.negative_pairs) * MILLION),
        "per_million_high": _known(_upper(curve.false_positives, pairs)),
        "recall": _known(_shares(curve.found, curve.copies)),
        "chosen": chosen,
        "verified_false_positives": [verified_false_positives if one else None for one in chosen],
        "asked_per_million": [float(per_million)] * rows,
        "note": [choice.why if one and not clear else None for one in noted],
    }
    return pa.table(columns, schema=THRESHOLDS)


def _shares(counts: Int64[np.ndarray, " t"], total: int) -> Float64[np.ndarray, " t"]:
    return counts / total if total else np.full(len(counts), np.nan)


def _upper(
    counts: Int64[np.ndarray, " t"], pairs: Int64[np.ndarray, " t"]
) -> Float64[np.ndarray, " t"]:
    bounds: Float64[np.ndarray, " t"]
    bounds = (exact_interval(counts, pairs)[:, 1] * MILLION).round(6)
    return bounds


def _known(values: Float64[np.ndarray, " t"]) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def _reason(curve: Curve, per_million: float) -> str:
    return (
        f"The loosest threshold with at most {per_million:g} false positives per million of "
        f"{curve.negative_pairs:,} negative pairs was chosen."
    )


def _limits(curve: Curve, row: int, per_million: float) -> str:
    needed = math.ceil(MOST_UNRESOLVED * MILLION / Fraction(repr(per_million)))
    return (
        f"The threshold is uncertain: {curve.negative_pairs:,} negative pairs cannot measure "
        f"{per_million:g} per million, which takes {needed:,}. It has "
        f"{int(curve.false_positives[row])} false positives, which do not show a higher rate."
    )


def _excess(curve: Curve, per_million: float) -> str:
    return (
        f"No threshold was chosen: the strictest one, {curve.thresholds[0]:g}, already finds "
        f"{int(curve.false_positives[0]):,} of {curve.negative_pairs:,} negative pairs, more than "
        f"{per_million:g} per million."
    )


def chosen_threshold(table: pa.Table) -> float | None:
    """Return the threshold of THRESHOLDS that was chosen; None if none was."""
    chosen: list[float] = table["threshold"].filter(table["chosen"]).to_pylist()
    return chosen[0] if chosen else None


def threshold_among(
    table: pa.Table, images: int | None, *, advised: float | None = None
) -> float | None:
    """Return the threshold of THRESHOLDS for a search among `images` images; None if none fits.

    This is the chosen one, unless it lets more than FALSE_PER_IMAGE false candidates through for
    each image; then it is the loosest that does not. More images never give a looser one.
    `advised` is as for `choose_threshold`. If `images` is None, the chosen one stands.
    """
    chosen = chosen_threshold(table)
    if chosen is None or images is None:
        return chosen
    counts = table["false_positives"].to_numpy()
    curve = Curve(
        thresholds=table["threshold"].to_numpy(),
        false_positives=counts,
        found=np.zeros_like(counts),
        negative_pairs=table["negative_pairs"][0].as_py(),
        copies=0,
    )
    choice = choose_threshold(curve, per_million=default_rate(images), advised=advised)
    if choice.threshold is None:
        return None
    bounds = [choice.threshold, chosen]
    first = table["threshold"][0].as_py()  # the strictest, of distances the least
    return min(bounds) if first <= chosen else max(bounds)
