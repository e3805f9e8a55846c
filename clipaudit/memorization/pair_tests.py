"""Pair tests: test whether a model knows its training pairs by the cosine of caption and image.

A pair's score is that cosine, minus that by a reference model if there is one, as in CLIPMem
(Wang et al., ICLR 2025: https://arxiv.org/abs/2502.07830), or minus its mean with a word of the
caption dropped, or with the image cropped. Members of the training set are compared with a
hold-out. The share of (member, hold-out record) in which the member scores higher is the AUC; the
share of members above a threshold that few hold-out records pass is the true-positive rate (Carlini
et al., IEEE S&P 2022: https://arxiv.org/abs/2112.03570). The recall gap of déjà vu is used as
another such score. A model may know every pair by its cosine and recall no object.

The reference alone is the control. It saw neither set, so it separates them only if they differ for
another reason than training; then no score of this test is evidence of memory.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from jaxtyping import Float64, Int64

from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.corpora.vectors import embedding_array
from clipaudit.evaluation.student import DECIMALS, NORMAL
from clipaudit.memorization.fixed import RATES
from clipaudit.memorization.pairs import matched_recalls
from clipaudit.neighbors.cosines import paired_cosines

MEASURES = ("auc", *RATES)
AUGMENTED = ("augmented", "augmented_pictures")  # versions of captions, of images
DRAWS = 10_000  # a 2.5 % quantile then rests on 250 draws

# One row per record, by (shard, row).
PAIR_SCORES = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),  # cosine of caption and image
    ]
)

# One row per (score, measure): scores in the order of `pair_test`, measures in that of MEASURES.
PAIR_TESTS = pa.schema(
    [
        pa.field("score", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),
        pa.field("members", pa.int64(), nullable=False),  # with this score
        pa.field("holdout_records", pa.int64(), nullable=False),
        # null: too few records; the AUC needs one of each, a rate its number in RATES
        pa.field("value", pa.float64()),
        pa.field("low", pa.float64()),  # 95 %, over both members and hold-out
        pa.field("high", pa.float64()),
    ]
)

Scores = tuple[Int64[np.ndarray, " n"], Float64[np.ndarray, " n"]]  # rising addresses, values


def score_pairs(captions: pa.Table, pictures: pa.Table) -> pa.Table:
    """Return the PAIR_SCORES of the records with both EMBEDDINGS.

    Both are sorted by (shard, row). The cosine is that of the stored vectors, exact but for three
    rounded operations; a record without one of the two is left out.
    """
    addresses, of_captions, of_pictures = np.intersect1d(
        sample_addresses(captions),
        sample_addresses(pictures),
        assume_unique=True,
        return_indices=True,
    )
    similarity = paired_cosines(
        embedding_array(captions, "captions")[of_captions],
        embedding_array(pictures, "pictures")[of_pictures],
    )
    shard, row = shards_and_rows(addresses)
    return pa.table({"shard": shard, "row": row, "similarity": similarity}, schema=PAIR_SCORES)


def score_augmented(versions: pa.Table, others: pa.Table) -> pa.Table:
    """Return as PAIR_SCORES the mean cosine of a record's versions and the other side of its pair.

    `versions` are AUGMENTED captions or images in any order, `others` EMBEDDINGS of the images or
    captions, sorted by (shard, row). A record without a version or the other side is left out.
    """
    of_version, known = sample_addresses(versions), sample_addresses(others)
    rows = np.flatnonzero(np.isin(of_version, known))
    addresses, place = np.unique(of_version[rows], return_inverse=True)
    own = embedding_array(others, "others")[np.searchsorted(known, of_version[rows])]
    similarity = paired_cosines(embedding_array(versions, "versions")[rows], own)
    mean = np.bincount(place, similarity, len(addresses)) / np.maximum(np.bincount(place), 1)
    shard, row = shards_and_rows(addresses)
    return pa.table({"shard": shard, "row": row, "similarity": mean}, schema=PAIR_SCORES)


def pair_test(
    scores: Mapping[str, pa.Table],
    recalls: Mapping[str, pa.Table],
    members: pa.Table,
    holdout: pa.Table,
    *,
    seed: int,
) -> pa.Table:
    """Return the PAIR_TESTS of the models `target` and, if there is one, `reference`.

    `scores` has their PAIR_SCORES, and perhaps those of `score_augmented`, by AUGMENTED. `recalls`
    has their RECALLS of one k, and may be empty. `members` and `holdout` are tables whose (shard,
    row) identify the records. The tested scores are
    * `target`;
    * with a reference `difference` (target minus reference) and `reference`;
    * with versions AUGMENTED (target minus their mean);
    * with recalls of both models `recall_gap`.

    `seed` decides the draws of intervals. A record counts only in the tests whose score it has.
    """
    chosen = [sample_addresses(table) for table in (members, holdout)]
    rows = []
    for score, (addresses, values) in _scores(scores, recalls).items():
        known = [values[np.isin(addresses, wanted)] for wanted in chosen]
        for measure in MEASURES:
            value, low, high = _measured(measure, known[0], known[1], seed)
            counts = {"members": len(known[0]), "holdout_records": len(known[1])}
            found = {"value": value, "low": low, "high": high}
            rows.append({"score": score, "measure": measure, **counts, **found})
    return pa.Table.from_pylist(rows, PAIR_TESTS)


def auc(members: Float64[np.ndarray, " n"], holdout: Float64[np.ndarray, " m"]) -> float:
    """Return the share of (member, hold-out record) in which the member is higher; a tie is half.

    >>> auc(np.array([1.0, 3.0]), np.array([2.0, 1.0]))
    0.625
    """
    ordered = np.sort(holdout)
    below = np.searchsorted(ordered, members, "left").sum()
    not_above = np.searchsorted(ordered, members, "right").sum()
    return float(below + not_above) / (2 * len(members) * len(holdout))


def auc_interval(value: float, members: int, holdout: int) -> tuple[float, float]:
    """Return the 95 % bounds of an AUC of so many members and hold-out records.

    Newcombe, Statistics in Medicine 2006 (method 5): https://doi.org/10.1002/sim.2324. At 0.5 the
    variance is exactly that of the rank test. Unlike DeLong's the interval has a width at 0 and 1,
    which models reach here.

    >>> [round(bound, 4) for bound in auc_interval(0.5, 50, 50)]
    [0.3897, 0.6103]
    """
    low, high = (_lower_bound(side, members, holdout) for side in (value, 1 - value))
    return low, 1 - high


def _lower_bound(value: float, members: int, holdout: int) -> float:
    from scipy.optimize import brentq  # here, since importing the names needs no scipy

    half = (members + holdout) / 2 - 1

    def excess(at: float) -> float:
        further = (1 - at) / (2 - at) + at / (1 + at)
        variance = at * (1 - at) * (1 + half * further) / (members * holdout)
        return float((value - at) ** 2 - NORMAL**2 * variance)

    if value == 0:
        return 0.0
    return float(brentq(excess, 0.0, min(value, 1 - 1e-12), xtol=1e-15))  # 1 is another root


def true_positives(
    members: Float64[np.ndarray, " n"], holdout: Float64[np.ndarray, " m"], *, one_in: int
) -> float:
    """Return the share of members above the lowest threshold that 1 in `one_in` hold-outs exceed.

    At most so many exceed it. There are at least `one_in` hold-out records.

    >>> true_positives(np.array([5.0, 3.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0]), one_in=4)
    0.3333333333333333
    """
    threshold = np.sort(holdout)[len(holdout) - 1 - len(holdout) // one_in]
    return float((members > threshold).mean())


def true_positives_interval(
    members: Float64[np.ndarray, " n"],
    holdout: Float64[np.ndarray, " m"],
    *,
    one_in: int,
    generator: np.random.Generator,
) -> tuple[float, float]:
    """Return the 95 % bounds of `true_positives`, over both members and hold-out.

    The true threshold, that 1 in `one_in` of all such records exceed, has a binomial number of the
    hold-out above it, so it lies between two of their scores (David and Nagaraja, Order Statistics,
    2003, Sec. 7.1). The lower bound takes the upper one, which no member exceeds if none of the
    hold-out is above the true threshold, and the upper bound the lower one. So with fewer than 3.7
    `one_in` hold-out records the lower bound is about 0. Members enter by Jeffreys' beta
    distribution, so that the interval has a width at 0 and 1.
    """
    passing = generator.binomial(len(holdout), 1 / one_in, DRAWS)
    scores = np.append(np.inf, np.sort(holdout)[::-1])  # scores[n] is the n-th highest
    low, high = (
        float(np.quantile(_drawn_shares(members, scores[place], generator), tail))
        for place, tail in (
            (passing, 0.025),
            (np.minimum(passing + 1, len(holdout)), 0.975),
        )
    )
    value = true_positives(members, holdout, one_in=one_in)
    return min(low, value), max(high, value)  # draws never reach 0 and 1


def _drawn_shares(
    members: Float64[np.ndarray, " n"],
    thresholds: Float64[np.ndarray, " draws"],
    generator: np.random.Generator,
) -> Float64[np.ndarray, " draws"]:
    """Return a draw of the share of members above each threshold."""
    above = len(members) - np.searchsorted(np.sort(members), thresholds, "right")
    return generator.beta(above + 0.5, len(members) - above + 0.5)


def _measured(
    measure: str,
    members: Float64[np.ndarray, " n"],
    holdout: Float64[np.ndarray, " m"],
    seed: int,
) -> tuple[float | None, float | None, float | None]:
    """Return a measure's value and bounds, all None with too few records."""
    if len(members) == 0 or len(holdout) < RATES.get(measure, 1):
        return None, None, None
    if measure == "auc":
        value = auc(members, holdout)
        low, high = auc_interval(value, len(members), len(holdout))
    else:
        one_in, generator = RATES[measure], np.random.default_rng(seed)
        value = true_positives(members, holdout, one_in=one_in)
        low, high = true_positives_interval(members, holdout, one_in=one_in, generator=generator)
    return value, round(low, DECIMALS), round(high, DECIMALS)


def _scores(scores: Mapping[str, pa.Table], recalls: Mapping[str, pa.Table]) -> dict[str, Scores]:
    """Return every score that the tables give, by name."""
    by_model = {
        name: (sample_addresses(table), _similarity(table)) for name, table in scores.items()
    }
    found = {"target": by_model["target"]}
    if "reference" in by_model:
        found["difference"] = _less(by_model["target"], by_model["reference"])
        found["reference"] = by_model["reference"]
    for name in AUGMENTED:
        if name in by_model:
            found[name] = _less(by_model["target"], by_model[name])
    if {"target", "reference"} <= recalls.keys():
        found["recall_gap"] = _recall_gaps(recalls["target"], recalls["reference"])
    return found


def _less(one: Scores, other: Scores) -> Scores:
    """Return the difference of two scores of the records that have both."""
    both, at, there = np.intersect1d(one[0], other[0], assume_unique=True, return_indices=True)
    return both, one[1][at] - other[1][there]


def _similarity(scores: pa.Table) -> Float64[np.ndarray, " n"]:
    values: np.ndarray = scores["similarity"].to_numpy()
    return values


def _recall_gaps(target: pa.Table, reference: pa.Table) -> Scores:
    """Return the recall of one model minus that of the other, for records with an object."""
    left, right = matched_recalls(target, reference)
    truths = left["truths"].to_numpy()
    kept = truths > 0
    more = left["correct"].to_numpy() - right["correct"].to_numpy()
    return sample_addresses(left)[kept], more[kept] / truths[kept]
