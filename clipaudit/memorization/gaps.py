"""Memorization metrics: the additional recall of a target model over a reference model.

Jayaraman et al., NeurIPS 2024, Sec. 3.2, Fig. 2 and 3: https://arxiv.org/abs/2402.02103. Records
whose image has no label are left out, as in the published code, and counted. Differences:

* `aucg` is the area between the exact survival curves of recall, which is the mean difference of
  recalls. `aucg_histogram` is the published code's form. Each model's recalls go into 100 equal
  bins between their own lowest and highest, and each then counts as the upper end of its bin: the
  area under a stair over the bins' lower ends. If all recalls are one value v, the code's histogram
  reaches from v - 1/2 to v + 1/2, so each counts as v + 1/100. Bins are found exactly here; the
  code rounds, which may move a recall on a border by one bin.
* The code attacks only A. One of two trained models finds more of *any* image than the other, so
  the gap of one direction reflects the two models as much as membership, which an interval over
  records does not cover. The mean of both directions is the difference in differences, which
  cancels a model's general advantage: it has the interval and the p value. A single direction is
  reported as in the code, and net of the hold-out, with an interval. The advantage may differ
  between sources, so each source of the hold-out counts as much as it does in the direction.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64

from clipaudit.evaluation.student import DECIMALS
from clipaudit.memorization.pairs import Pairs, mean_ratio
from clipaudit.memorization.resampling import (
    Estimate,
    Statistic,
    Stratum,
    estimate,
    generator,
    membership_test,
)

BINS = 100  # of the published histogram
ALL = ""  # all sources together
CONTROL = "control"  # the hold-out, attacked as if it were A
TARGETS = ("mean", "a", "b", CONTROL)

# One row per (source, target, measure). Sources: all together, then each if there are several.
# Targets: mean, a, b, control, as far as there are records. Measures: ppg, prg, aucg,
# aucg_histogram.
GAPS = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),  # "": all together
        # a: records of A, the model of A less that of B; b: records of B, the model of B less that
        # of A; mean: of both; control: the hold-out, the model of A less that of B
        pa.field("target", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),
        # target minus reference, over the evaluated records; without any, all values are null
        pa.field("value", pa.float64()),
        # over 100 draws of a tenth of the evaluated records (at least one), with replacement;
        # their standard deviation (divided by 100, not 99), as the paper's "mean +- std"
        pa.field("draws_mean", pa.float64()),
        pa.field("draws_std", pa.float64()),
        # of mean and control: 95 %, from 2000 bootstraps of each set's evaluated records
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        # of a and b: the value minus the same models' difference on the hold-out, with the same
        # shares of sources, and its 95 %; null if one of the sources has no hold-out
        pa.field("net", pa.float64()),
        pa.field("net_low", pa.float64()),
        pa.field("net_high", pa.float64()),
        # of mean: two-sided, from permuting which records are in A and which in B; null for
        # aucg_histogram, which is no sum over records, since its bins depend on all of them
        pa.field("p_value", pa.float64()),
        pa.field("evaluated", pa.int64(), nullable=False),
        pa.field("dropped", pa.int64(), nullable=False),  # records whose image has no label
    ]
)

# One row per (model, distinct recall), the target first, then by recall.
SURVIVAL = pa.schema(
    [
        pa.field("model", pa.string(), nullable=False),  # target or reference
        pa.field("recall", pa.float64(), nullable=False),
        pa.field("at_least", pa.float64(), nullable=False),  # share of records with at least this
        pa.field("records", pa.int64(), nullable=False),  # with exactly this recall
    ]
)

BySource = Mapping[str, Pairs]


def population_gaps(attacks: Mapping[str, BySource], *, seed: int) -> pa.Table:
    """Return the GAPS of the attacks a, b and control, each the Pairs of records by source.

    `mean` needs records of A and of B, `net` a hold-out of the same sources. `seed`, 0 or more,
    decides all draws. Each source, attack and measure has its own draws, so none depends on which
    others are computed. Draws pick kinds of records, not records, so the cost depends on the number
    of distinct outcomes.
    """
    sources = list(dict.fromkeys(name for pairs in attacks.values() for name in pairs))
    groups = {ALL: sources} | {name: [name] for name in sources if len(sources) > 1}
    rows = []
    for group, members in groups.items():
        of_group = {
            attack: {name: pairs[name] for name in members if name in pairs}
            for attack, pairs in attacks.items()
        }
        rows += _gaps_of(group, {name: pairs for name, pairs in of_group.items() if pairs}, seed)
    return pa.Table.from_pylist(rows, GAPS)


def _gaps_of(group: str, attacks: Mapping[str, BySource], seed: int) -> list[dict[str, object]]:
    """Return the rows of GAPS of some sources together."""
    joined = {name: Pairs.joined(pairs.values()) for name, pairs in attacks.items()}
    kept = {name: pairs.evaluated() for name, pairs in joined.items()}
    sizes = {name: (kept[name].size, joined[name].size - kept[name].size) for name in joined}
    if {"a", "b"} <= joined.keys():
        sizes["mean"] = sizes["a"][0] + sizes["b"][0], sizes["a"][1] + sizes["b"][1]
    rows: list[dict[str, object]] = []
    for measure, statistic in _STATISTICS.items():
        found = {
            name: estimate(statistic(pairs), f"{group} {name} {measure}".lstrip(), seed)
            for name, pairs in kept.items()
            if pairs.size
        }
        if {"a", "b"} <= found.keys():
            found["mean"] = found["a"].plus(found["b"]).times(Fraction(1, 2))
        held_out = _held_out(attacks, found, measure, seed)
        for name in sizes:
            row: dict[str, object] = {"source": group, "target": name, "measure": measure}
            row |= {"evaluated": sizes[name][0], "dropped": sizes[name][1]}
            if name in found:
                row |= _numbers(found[name], name, held_out.get(name))
            if name == "mean" and name in found and measure in TERMS:
                strata = _strata(attacks, TERMS[measure])
                draws = generator(seed, f"{group} {measure} membership".lstrip())
                row["p_value"] = membership_test(strata, draws)
            rows.append(row)
    return sorted(rows, key=lambda row: TARGETS.index(str(row["target"])))


def _held_out(
    attacks: Mapping[str, BySource], found: Mapping[str, Estimate], measure: str, seed: int
) -> dict[str, Estimate]:
    """Return the gap of the hold-out with the sources of A, and of B, in the proportions there.

    A direction has none if the hold-out lacks one of its sources.
    """
    directions = [name for name in ("a", "b") if name in found]
    if CONTROL not in found:
        return {}
    if len({source for pairs in attacks.values() for source in pairs}) == 1:
        return dict.fromkeys(directions, found[CONTROL])
    kept = {source: pairs.evaluated() for source, pairs in attacks[CONTROL].items()}
    by_source = {
        source: estimate(_STATISTICS[measure](pairs), f"{source} {CONTROL} {measure}", seed)
        for source, pairs in kept.items()
        if pairs.size
    }
    weighted = {}
    for name in directions:
        sizes = {source: pairs.evaluated().size for source, pairs in attacks[name].items()}
        shares = {source: Fraction(n, sum(sizes.values())) for source, n in sizes.items() if n}
        if shares.keys() <= by_source.keys():
            parts = [by_source[source].times(share) for source, share in shares.items()]
            weighted[name] = reduce(Estimate.plus, parts)
    return weighted


def _numbers(own: Estimate, name: str, held_out: Estimate | None) -> dict[str, object]:
    """Return the values of a row of GAPS for an attack with an estimate."""
    drawn = {"draws_mean": own.draws.mean(), "draws_std": own.draws.std()}
    if name in ("mean", CONTROL):
        drawn |= dict(zip(("low", "high"), own.bounds(), strict=True))
    elif held_out is not None:
        # the hold-out is attacked as A is, so for B its gap has the opposite sign
        net = own.plus(held_out.times(Fraction(-1 if name == "a" else 1)))
        drawn |= dict(zip(("net_low", "net_high"), net.bounds(), strict=True))
        drawn["net"] = net.value
    # + 0.0: -0.0 becomes 0.0
    rounded = {key: round(float(value), DECIMALS) + 0.0 for key, value in drawn.items()}
    return {"value": float(own.value), **rounded}


def _strata(attacks: Mapping[str, BySource], terms: "Terms") -> list[Stratum]:
    """Return, by source, the records' contributions to the mean of A's model minus B's."""
    strata = []
    for name in dict.fromkeys([*attacks["a"], *attacks["b"]]):
        columns = []
        for attack, sign in (("a", 1), ("b", -1)):
            pairs = attacks[attack].get(name, Pairs.joined([])).evaluated()
            columns.append((sign * terms(pairs), pairs.records))
        kinds, place = np.unique(np.concatenate([of for of, _ in columns]), return_inverse=True)
        in_a, in_b = np.zeros((2, len(kinds)), dtype=np.int64)
        border = len(columns[0][0])
        np.add.at(in_a, place[:border], columns[0][1])
        np.add.at(in_b, place[border:], columns[1][1])
        strata.append(Stratum(kinds, in_a, in_b))
    return strata


def survival(pairs: Pairs) -> pa.Table:
    """Return the SURVIVAL of both models' recalls over the evaluated records (Fig. 3).

    The area between the curves over [0, 1] is `aucg`. Without evaluated records there are no rows.
    """
    kept = pairs.evaluated()
    tables = [SURVIVAL.empty_table()]
    for model in ("target", "reference"):
        recall, place = np.unique(
            getattr(kept, f"{model}_correct") / kept.truths, return_inverse=True
        )
        records = np.bincount(place, kept.records, minlength=len(recall)).astype(np.int64)
        columns = {
            "model": [model] * len(recall),
            "recall": recall,
            "at_least": np.cumsum(records[::-1])[::-1] / max(kept.size, 1),
            "records": records,
        }
        tables.append(pa.table(columns, schema=SURVIVAL))
    return pa.concat_tables(tables)


Terms = Callable[[Pairs], Float64[np.ndarray, " outcomes"]]


def _precision_signs(kept: Pairs) -> Int64[np.ndarray, " outcomes"]:
    """Return 1 where the target is more precise, -1 where the reference is, 0 in a tie."""
    # Cross products compare fractions exactly; without predictions, precision is 0 of 1.
    target = kept.target_correct * np.maximum(kept.reference_predicted, 1)
    signs: np.ndarray = np.sign(
        target - kept.reference_correct * np.maximum(kept.target_predicted, 1)
    )
    return signs


def _recall_signs(kept: Pairs) -> Int64[np.ndarray, " outcomes"]:
    signs: np.ndarray = np.sign(kept.target_correct - kept.reference_correct)
    return signs


# what a record adds to a metric that is a mean over records
TERMS: Mapping[str, Terms] = {
    "ppg": lambda kept: _precision_signs(kept).astype(np.float64),
    "prg": lambda kept: _recall_signs(kept).astype(np.float64),
    # equal fractions divide to equal floats, unequal ones to unequal floats
    "aucg": lambda kept: (kept.target_correct - kept.reference_correct) / kept.truths,
}


def _mean_statistic(
    differences: Int64[np.ndarray, " outcomes"],
    denominators: Int64[np.ndarray, " outcomes"],
    records: Int64[np.ndarray, " outcomes"],
) -> Statistic:
    """Return the mean of differences / denominators as a statistic."""
    terms, place = np.unique(differences / denominators, return_inverse=True)
    counts = np.zeros(len(terms), dtype=np.int64)
    np.add.at(counts, place, records)

    def mean(drawn: np.ndarray) -> np.ndarray:
        means: np.ndarray = (drawn * terms).sum(axis=1) / drawn.sum(axis=1)
        return means

    return Statistic(mean_ratio(differences, denominators, records), counts, mean)


def _histogram_statistic(kept: Pairs) -> Statistic:
    """Return the published code's area; a kind is a pair of recalls, of target and reference."""
    models = [
        np.unique(correct / kept.truths, return_index=True, return_inverse=True)
        for correct in (kept.target_correct, kept.reference_correct)
    ]
    (_, target_row, target), (_, reference_row, reference) = models
    kinds, place = np.unique(target * len(reference_row) + reference, return_inverse=True)
    counts = np.zeros(len(kinds), dtype=np.int64)
    np.add.at(counts, place, kept.records)
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
    return Statistic(value, counts, area, limit=1 + Fraction(1, BINS))  # a bin's upper end


def _binned_mean(
    counts: Int64[np.ndarray, "draws recalls"],
    correct: Int64[np.ndarray, " recalls"],
    truths: Int64[np.ndarray, " recalls"],
) -> Float64[np.ndarray, " draws"]:
    """Return the mean of recalls, each moved up to the end of its bin; see the module.

    Recalls correct / truths ascend; `counts` say how often each occurs in a draw. All numbers are
    integers until the last step; with fewer than 30,000 labels in an image none overflows.
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
    "ppg": lambda kept: _mean_statistic(
        _precision_signs(kept), np.ones_like(kept.truths), kept.records
    ),
    "prg": lambda kept: _mean_statistic(
        _recall_signs(kept), np.ones_like(kept.truths), kept.records
    ),
    "aucg": lambda kept: _mean_statistic(
        kept.target_correct - kept.reference_correct, kept.truths, kept.records
    ),
    "aucg_histogram": _histogram_statistic,
}
