"""Memorization metrics: how much more a target model recalls than a reference model.

Jayaraman et al., NeurIPS 2024, Sec. 3.2, Fig. 2 and 3: https://arxiv.org/abs/2402.02103. Records
whose picture has no label are left out, as in the published code, and counted. Where we differ:

* `aucg` is the area between the exact survival curves of recall, which is the mean difference of
  recalls. The published code's form, `aucg_histogram`, is beside it: each model's recalls go into
  100 equal bins between their own lowest and highest, and each then counts as the upper end of its
  bin (that is what the area under a stair over the bins' lower ends is). Where all recalls are one
  value v, the code's histogram reaches from v - 1/2 to v + 1/2, so each counts as v + 1/100. Bins
  are found exactly here; the code rounds, which may move a recall on a border by one bin.
* Beside the paper's mean and standard deviation of small draws stand an interval and a p value.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64
from scipy.special import bdtr

from clipaudit.memorization.pairs import Pairs, mean_ratio
from clipaudit.memorization.resampling import (
    Estimate,
    Statistic,
    estimate,
    mean_estimate,
    swap_test,
)

BINS = 100  # of the published histogram
DECIMALS = 12  # of what is drawn: far past use, and short of the bits in which builds may differ

# One row per (target, measure), in the order of the directions, then ppg, prg, aucg,
# aucg_histogram. `mean` is the mean of the directions a and b.
GAPS = pa.schema(
    [
        pa.field("target", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),
        # target minus reference, over the evaluated records; all of these are null without any
        pa.field("value", pa.float64()),
        # over 100 draws of a tenth of the evaluated records (at least one), with replacement;
        # the standard deviation of these very draws (divided by 100), as the paper's "mean +- std"
        pa.field("draws_mean", pa.float64()),
        pa.field("draws_std", pa.float64()),
        # 95 %: percentiles of 2000 bootstraps of all evaluated records
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        # two-sided, of a test that swaps target and reference record by record; null for
        # aucg_histogram, whose bins depend on all records at once: it is no sum over records
        pa.field("p_value", pa.float64()),
        pa.field("evaluated", pa.int64(), nullable=False),
        pa.field("dropped", pa.int64(), nullable=False),  # records without a label of their own
    ]
)

# One row per (model, distinct recall), the target first, then by recall.
SURVIVAL = pa.schema(
    [
        pa.field("model", pa.string(), nullable=False),  # target or reference
        pa.field("recall", pa.float64(), nullable=False),
        pa.field("at_least", pa.float64(), nullable=False),  # share of records with it or more
        pa.field("records", pa.int64(), nullable=False),  # with exactly it
    ]
)


def population_gaps(directions: Mapping[str, Pairs], *, seed: int) -> pa.Table:
    """Return the GAPS of each direction, and of `mean` where both `a` and `b` are given.

    `seed`, 0 or more, decides all draws; each direction and measure draws for itself, so none
    depends on what else is asked. Draws pick kinds of records, not records: the cost depends on how
    many distinct outcomes there are. The test of ppg and prg is the exact binomial one of the
    records where the models differ; that of aucg, and of every `mean`, counts 9999 random swaps.
    `mean` combines the draws of a and b, which are independent.
    """
    rows = []
    estimates: dict[tuple[str, str], Estimate | None] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for name, pairs in directions.items():
        kept = pairs.evaluated()
        sizes[name] = len(kept.truths), len(pairs.truths) - len(kept.truths)
        for measure, statistic in _STATISTICS.items():
            found = None
            if len(kept.truths):
                found = estimate(statistic(kept), f"{name} {measure}", seed)
            estimates[name, measure] = found
            p_value = _coin_test(kept, measure) if measure in _SIGNS else swap_test(found)
            rows.append(_row(name, measure, found, p_value, sizes[name]))
    if {"a", "b"} <= sizes.keys():
        (kept_a, left_a), (kept_b, left_b) = sizes["a"], sizes["b"]
        both = kept_a + kept_b, left_a + left_b
        for measure in _STATISTICS:
            found = mean_estimate(estimates["a", measure], estimates["b", measure])
            rows.append(_row("mean", measure, found, swap_test(found), both))
    return pa.Table.from_pylist(rows, GAPS)


def survival(pairs: Pairs) -> pa.Table:
    """Return the SURVIVAL of both models' recalls over the evaluated records (Fig. 3).

    The area between the curves over [0, 1] is `aucg`. No evaluated records give no rows.
    """
    kept = pairs.evaluated()
    tables = [SURVIVAL.empty_table()]
    for model in ("target", "reference"):
        recall, records = np.unique(
            getattr(kept, f"{model}_correct") / kept.truths, return_counts=True
        )
        columns = {
            "model": [model] * len(recall),
            "recall": recall,
            "at_least": np.cumsum(records[::-1])[::-1] / max(len(kept.truths), 1),
            "records": records,
        }
        tables.append(pa.table(columns, schema=SURVIVAL))
    return pa.concat_tables(tables)


def _precision_signs(kept: Pairs) -> Int64[np.ndarray, " n"]:
    """Return 1 where the target is more precise, -1 where the reference is, 0 in a tie."""
    # Crosswise products compare fractions exactly; none predicted is 0 of 1.
    target = kept.target_correct * np.maximum(kept.reference_predicted, 1)
    signs: np.ndarray = np.sign(
        target - kept.reference_correct * np.maximum(kept.target_predicted, 1)
    )
    return signs


def _recall_signs(kept: Pairs) -> Int64[np.ndarray, " n"]:
    signs: np.ndarray = np.sign(kept.target_correct - kept.reference_correct)
    return signs


_SIGNS = {"ppg": _precision_signs, "prg": _recall_signs}


def _mean_statistic(
    differences: Int64[np.ndarray, " n"], denominators: Int64[np.ndarray, " n"]
) -> Statistic:
    """Return the mean of differences / denominators as a statistic."""
    # Equal fractions divide to equal floats, unequal ones to unequal floats.
    terms, counts = np.unique(differences / denominators, return_counts=True)

    def mean(drawn: np.ndarray) -> np.ndarray:
        means: np.ndarray = (drawn * terms).sum(axis=1) / drawn.sum(axis=1)
        return means

    return Statistic(mean_ratio(differences, denominators), counts, mean, terms)


def _histogram_statistic(kept: Pairs) -> Statistic:
    """Return the published code's area; a kind is a pair of recalls, of target and reference."""
    models = [
        np.unique(correct / kept.truths, return_index=True, return_inverse=True)
        for correct in (kept.target_correct, kept.reference_correct)
    ]
    (_, target_row, target), (_, reference_row, reference) = models
    kinds, counts = np.unique(target * len(reference_row) + reference, return_counts=True)
    target, reference = np.divmod(kinds, len(reference_row))
    by_reference = np.argsort(reference, kind="stable")
    target_starts = np.flatnonzero(np.diff(target, prepend=-1))
    reference_starts = np.flatnonzero(np.diff(reference[by_reference], prepend=-1))
    target_recalls = kept.target_correct[target_row], kept.truths[target_row]
    reference_recalls = kept.reference_correct[reference_row], kept.truths[reference_row]

    def area(drawn: np.ndarray) -> np.ndarray:
        own = np.add.reduceat(drawn, target_starts, axis=1)
        other = np.add.reduceat(drawn[:, by_reference], reference_starts, axis=1)
        areas: np.ndarray = _binned_mean(own, *target_recalls)
        areas -= _binned_mean(other, *reference_recalls)
        return areas

    value = Fraction(float(area(counts[None])[0]))
    return Statistic(value, counts, area)


def _binned_mean(
    counts: Int64[np.ndarray, "draws recalls"],
    correct: Int64[np.ndarray, " recalls"],
    truths: Int64[np.ndarray, " recalls"],
) -> Float64[np.ndarray, " draws"]:
    """Return the mean of recalls, each moved up to the end of its bin; see the module.

    Recalls correct / truths ascend; `counts` say how often each occurs in a draw. All integers
    until the last step: with fewer than 30,000 labels in a picture none overflows.
    """
    occurs = counts > 0
    low = occurs.argmax(axis=1)
    high = len(correct) - 1 - occurs[:, ::-1].argmax(axis=1)
    low_correct, low_truths = correct[low], truths[low]
    span = correct[high] * low_truths - low_correct * truths[high]  # times both denominators
    constant = span == 0
    # bin = floor(100 (recall - low) / (high - low)), the highest recall in the last bin
    above = correct * low_truths[:, None] - low_correct[:, None] * truths
    bins = BINS * above * truths[high][:, None] // (truths * np.maximum(span, 1)[:, None])
    steps = (counts * np.clip(bins + 1, 0, BINS)).sum(axis=1) / (BINS * counts.sum(axis=1))
    lowest = low_correct / low_truths
    means: np.ndarray = lowest + np.where(
        constant, 1 / BINS, (correct[high] / truths[high] - lowest) * steps
    )
    return means


_STATISTICS: Mapping[str, Callable[[Pairs], Statistic]] = {
    "ppg": lambda kept: _mean_statistic(_precision_signs(kept), np.ones_like(kept.truths)),
    "prg": lambda kept: _mean_statistic(_recall_signs(kept), np.ones_like(kept.truths)),
    "aucg": lambda kept: _mean_statistic(kept.target_correct - kept.reference_correct, kept.truths),
    "aucg_histogram": _histogram_statistic,
}


def _coin_test(kept: Pairs, measure: str) -> float | None:
    """Return the chance of wins as uneven as these, were each record that differs a fair coin."""
    signs = _SIGNS[measure](kept)
    if len(signs) == 0:
        return None
    differing = int(np.count_nonzero(signs))
    fewer = min(int((signs > 0).sum()), int((signs < 0).sum()))
    tail = float(bdtr(fewer, differing, 0.5)) if differing else 1.0
    return float(f"{min(2 * tail, 1):.{DECIMALS}g}")  # digits: a small p matters too


def _row(
    target: str,
    measure: str,
    found: Estimate | None,
    p_value: float | None,
    sizes: tuple[int, int],
) -> dict[str, object]:
    """Return a row of GAPS."""
    row = {"target": target, "measure": measure, "evaluated": sizes[0], "dropped": sizes[1]}
    if found is None:
        return row
    low, high = np.quantile(found.bootstraps, [0.025, 0.975], method="inverted_cdf")
    drawn = {
        "draws_mean": found.draws.mean(),
        "draws_std": found.draws.std(),
        "low": low,
        "high": high,
    }
    # + 0.0: -0.0 becomes 0.0
    rounded = {name: round(float(value), DECIMALS) + 0.0 for name, value in drawn.items()}
    return row | rounded | {"value": float(found.value), "p_value": p_value}
