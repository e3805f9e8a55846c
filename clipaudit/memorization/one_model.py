"""One-model déjà vu: the reference predicts objects from captions alone, without a second model.

Kokhlikyan et al. 2025: https://arxiv.org/abs/2504.05651. A reference predicts the objects of an
image from its caption and the public set. `words` is naive Bayes over the words of public captions,
which needs no model; `captions` takes the labels of the images whose captions are nearest to the
record's, by a text tower. The target may recall more than a reference because it trained on the
record, or because it knows images better than words tell. The hold-out measures the latter; the
difference of both is the evidence.

Differences: naive Bayes counts only the words that a caption has, not those that it lacks, and
names as many labels as the target for the same record, so that neither gains by guessing more.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float64, Int64
from scipy.sparse import csr_array

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.evaluation.student import NORMAL, student_quantile, unseen_share
from clipaudit.memorization.labelled import LabelledImages, places_among
from clipaudit.memorization.pairs import matched_recalls, one_by_one
from clipaudit.memorization.recall import BLOCK_RECORDS, RECALLS

_DECIMALS = 9  # of log odds, so that equal ones tie in any order of summation
_WORD = re.compile(r"\w+")

# Spearman's correlation of the gaps of members, or of the hold-out, with those between two models
AGREEMENTS = ("agreement_members", "agreement_holdout")

# One row per (k, reference, measure, part), in the order given.
ONE_MODEL = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("reference", pa.string(), nullable=False),
        pa.field("measure", pa.string(), nullable=False),  # prg, aucg: as in GAPS
        # members, holdout: the gap on them; net: their difference; less_model: net, minus that
        # between two models; AGREEMENTS
        pa.field("part", pa.string(), nullable=False),
        # with an object; of both, for net and less_model
        pa.field("records", pa.int64(), nullable=False),
        pa.field("value", pa.float64()),  # null: too few records, or no variation for a correlation
        pa.field("low", pa.float64()),  # 95 %; null if records do not vary
        pa.field("high", pa.float64()),
    ]
)


class Estimate(NamedTuple):
    """A value with its 95 % bounds; None means unknown."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def recall_by_words(
    target: pa.Table,
    records: pa.Table,
    truths: pa.Table,
    captions: pa.Table,
    shown: pa.Table,
    *,
    top: int,
) -> pa.Table:
    """Return the RECALLS of naive Bayes over the words of captions, in the order of `target`.

    `target` are a model's RECALLS. Each row predicts as many labels as the model does, but at most
    all that public images show. `records` and `captions` have the columns shard, row and `caption`,
    of the records and the public images; `truths` and `shown` their `labels`, sorted by (shard,
    row). Public images without a caption, or with unknown objects, are left out. Words are runs of
    letters, digits and underscores, casefolded, and count once per caption. The labels with the
    highest log odds are predicted, the lower label in a tie; a caption without known words predicts
    the most frequent labels. `similarity` is null. Raises StoreError for a record that `records` or
    `truths` lacks.
    """
    model = _Bayes.fitted(records["caption"].to_pylist(), captions, shown)
    addresses = sample_addresses(target)
    own = LabelledImages.of(truths, "truths")
    given = sample_addresses(records)
    order = np.argsort(given, kind="stable")
    distinct, place = np.unique(addresses, return_inverse=True)
    at = order[places_among(given[order], distinct, "record", "records")]
    images = places_among(own.addresses, distinct, "record", "truths")
    texts = records["caption"].take(pa.array(at)).to_pylist()
    columns = {
        name: np.zeros(len(target), np.int32)
        for name in ("predicted", "correct", "top_predicted", "top_correct")
    }
    for start in range(0, len(distinct), BLOCK_RECORDS):
        block = slice(start, start + BLOCK_RECORDS)
        right = model.right_among_first(texts[block], own.labels(images[block]))
        rows = np.flatnonzero((place >= start) & (place < start + BLOCK_RECORDS))
        asked = target["predicted"].to_numpy()[rows]
        for prefix, most in (("", len(model.labels)), ("top_", min(top, len(model.labels)))):
            predicted = np.minimum(asked, most)
            columns[f"{prefix}predicted"][rows] = predicted
            columns[f"{prefix}correct"][rows] = right[place[rows] - start, predicted]
    head = {name: target[name] for name in ("shard", "row", "k", "truths")}
    none = pa.nulls(len(target), pa.float64())
    found = {**head, "similarity": none, **columns}
    return pa.table({name: found[name] for name in RECALLS.names}, schema=RECALLS)


class _Bayes(NamedTuple):
    """The log odds of every label, and each word's contribution to them."""

    words: dict[str, int]
    labels: Int64[np.ndarray, " labels"]  # ascending
    prior: Float64[np.ndarray, " labels"]
    weights: Float64[np.ndarray, "words labels"]

    @classmethod
    def fitted(cls, asked: Sequence[str | None], captions: pa.Table, shown: pa.Table) -> "_Bayes":
        """Fit the odds on public images, keeping only words of the captions `asked`."""
        captions = captions.filter(pc.is_valid(captions["caption"]))
        images = LabelledImages.of(shown.filter(pc.is_valid(shown["labels"])), "public")
        both, caption, image = np.intersect1d(
            sample_addresses(captions), images.addresses, assume_unique=True, return_indices=True
        )
        names = sorted({word for text in asked for word in _words(text)})
        words = {word: number for number, word in enumerate(names)}
        has = _indicators(captions["caption"].take(pa.array(caption)).to_pylist(), words)
        holder, label = images.labels(image)
        labels, column = np.unique(label, return_inverse=True)
        shows = _matrix(holder, column, (len(both), len(labels)))
        together = (has.T @ shows).toarray()  # (words, labels): images with both
        of_word, of_label = has.sum(axis=0)[:, None], shows.sum(axis=0)  # (words, 1), (labels,)
        without = len(both) - of_label
        weights = np.log((together + 1) / (of_label + 2))
        weights -= np.log((of_word - together + 1) / (without + 2))
        return cls(words, labels, np.log((of_label + 1) / (without + 1)), weights)

    def right_among_first(
        self,
        captions: Sequence[str | None],
        truths: tuple[Int64[np.ndarray, " found"], Int64[np.ndarray, " found"]],
    ) -> Int64[np.ndarray, "n labels_and_1"]:
        """Return how many of the first 0, 1, ... labels of each caption are true ones.

        `truths` are the caption's number and the label, for each label that its image shows.
        """
        odds = _indicators(captions, self.words) @ self.weights + self.prior  # (n, labels)
        order = np.argsort(-odds.round(_DECIMALS), axis=1, kind="stable")
        is_true: Bool[np.ndarray, "n labels"] = np.zeros(odds.shape, bool)
        record, label = truths
        known = np.isin(label, self.labels)
        is_true[record[known], np.searchsorted(self.labels, label[known])] = True
        right = np.zeros((len(odds), len(self.labels) + 1), np.int64)
        right[:, 1:] = np.take_along_axis(is_true, order, axis=1).cumsum(axis=1)
        return right


def one_model(
    target: pa.Table,
    references: Mapping[str, pa.Table],
    members: pa.Table,
    holdout: pa.Table,
    *,
    neighbors: Sequence[int],
) -> pa.Table:
    """Return the ONE_MODEL of a target against each reference, from their RECALLS.

    `members` and `holdout` are tables whose (shard, row) identify the records. Records whose image
    has no label are left out. The reference `model`, if there is one, is a second model that never
    saw the members; the other references are compared with it. In `less_model` the target's recall
    cancels: 0 means that both references serve equally. AGREEMENTS are rank correlations over
    records. Both gaps share the target's recall, so they agree even without memory; the hold-out
    measures how far. Bounds are those of Student for a mean, of Welch for a difference of two, and
    by Fisher's transformation for Spearman's correlation, with the larger of two variances: Bonett
    and Wright's (Psychometrika 2000: https://doi.org/10.1007/BF02294183), which knows no ties, and
    that of the records' influence.
    """
    rows = []
    for k in neighbors:
        of_k = {
            name: table.filter(pc.equal(table["k"], k))
            for name, table in {"": target, **references}.items()
        }
        gaps = {
            name: {
                part: _gaps(_of(of_k[""], records), _of(of_k[name], records))
                for part, records in (("members", members), ("holdout", holdout))
            }
            for name in references
        }
        for name, parts in gaps.items():
            for measure in ("prg", "aucg"):
                inside, outside = (parts[part][measure] for part in ("members", "holdout"))
                found = {
                    "members": (len(inside), _mean(inside)),
                    "holdout": (len(outside), _mean(outside)),
                    "net": (len(inside) + len(outside), _net(inside, outside)),
                }
                if "model" in gaps and name != "model":
                    own = inside, outside
                    other = [gaps["model"][part][measure] for part in ("members", "holdout")]
                    further = (one - two for one, two in zip(own, other, strict=True))
                    found["less_model"] = found["net"][0], _net(*further)
                    for agreement, one, two in zip(AGREEMENTS, own, other, strict=True):
                        found[agreement] = len(one), _agreement(one, two)
                head = {"k": k, "reference": name, "measure": measure}
                rows += [
                    {**head, "part": part, "records": records, **estimate._asdict()}
                    for part, (records, estimate) in found.items()
                ]
    return pa.Table.from_pylist(rows, ONE_MODEL)


def _words(text: str | None) -> set[str]:
    return set(_WORD.findall((text or "").casefold()))


def _indicators(captions: Sequence[str | None], words: Mapping[str, int]) -> csr_array:
    """Return the words of each caption as a matrix, (captions, words)."""
    numbers = [sorted(words[word] for word in _words(text) & words.keys()) for text in captions]
    row = np.repeat(np.arange(len(numbers)), [len(each) for each in numbers])
    column = np.array([number for each in numbers for number in each], dtype=np.int64)
    return _matrix(row, column, (len(captions), len(words)))


def _matrix(
    row: Int64[np.ndarray, " m"], column: Int64[np.ndarray, " m"], shape: tuple[int, int]
) -> csr_array:
    """Return a matrix that is 1 at these places, even for repeated ones, and 0 elsewhere."""
    places = np.unique(row * shape[1] + column)
    at = np.divmod(places, max(shape[1], 1))
    return csr_array((np.ones(len(places)), at), shape=shape)


def _of(recalls: pa.Table, records: pa.Table) -> pa.Table:
    kept = np.isin(sample_addresses(recalls), sample_addresses(records))
    return recalls.filter(pa.array(kept))


def _gaps(target: pa.Table, reference: pa.Table) -> dict[str, Float64[np.ndarray, " n"]]:
    """Return the contribution of each record with an object to PRG and AUCG, by address."""
    pairs = one_by_one(*matched_recalls(target, reference)).evaluated()
    more = pairs.target_correct - pairs.reference_correct
    return {"prg": np.sign(more).astype(np.float64), "aucg": more / pairs.truths}


def _mean(values: Float64[np.ndarray, " n"]) -> Estimate:
    if len(values) == 0:
        return Estimate()
    return _bounded(float(values.mean()), values)


def _net(inside: Float64[np.ndarray, " n"], outside: Float64[np.ndarray, " m"]) -> Estimate:
    if len(inside) == 0 or len(outside) == 0:
        return Estimate()
    return _bounded(float(inside.mean() - outside.mean()), inside, outside)


def _bounded(value: float, *samples: Float64[np.ndarray, " _"]) -> Estimate:
    """Return a value made of the samples' means, with Student's or Welch's bounds.

    There are none if a sample has a single value, or if no sample varies. A bound is at least as
    far from the value as an `unseen_share` of the smallest sample would move it, if these records
    differed as much as the most different ones do.
    """
    degrees = [len(each) - 1 for each in samples]
    if min(degrees) == 0:
        return Estimate(value)
    squared_errors = [float(each.var(ddof=1)) / len(each) for each in samples]
    if not (whole := sum(squared_errors)) > 0:
        return Estimate(value)
    parts = zip(squared_errors, degrees, strict=True)
    of_both = whole**2 / sum(each**2 / degree for each, degree in parts)
    largest = max(float(np.abs(each).max()) for each in samples)
    unseen = unseen_share(min(degrees) + 1) * largest
    half = max(student_quantile(of_both) * whole**0.5, unseen)
    return Estimate(value, value - half, value + half)


def _agreement(own: Float64[np.ndarray, " n"], other: Float64[np.ndarray, " n"]) -> Estimate:
    from scipy.stats import spearmanr

    if len(own) < 2 or len(np.unique(own)) == 1 or len(np.unique(other)) == 1:
        return Estimate()
    value = float(spearmanr(own, other).statistic)
    if len(own) < 4 or abs(value) > 1 - 1e-9:
        return Estimate(value)
    of_ties = float((_influence(own, other) ** 2).mean()) / len(own) / (1 - value**2) ** 2
    half = NORMAL * max((1 + value**2 / 2) / (len(own) - 3), of_ties) ** 0.5
    middle = np.arctanh(value)
    return Estimate(value, float(np.tanh(middle - half)), float(np.tanh(middle + half)))


def _influence(
    own: Float64[np.ndarray, " n"], other: Float64[np.ndarray, " n"]
) -> Float64[np.ndarray, " n"]:
    """Return the influence of each record on Spearman's correlation: n times its derivative.

    The mean square divided by n is the variance for many records, with any ties (the infinitesimal
    jackknife; Efron, The Jackknife, the Bootstrap and Other Resampling Plans, 1982, ch. 6).
    """
    from scipy.stats import rankdata

    ranks = [(rankdata(each) - 0.5) / len(each) - 0.5 for each in (own, other)]

    def of_product(one: int, two: int) -> tuple[float, Float64[np.ndarray, " n"]]:
        """Return the mean product of two ranks, and each record's influence on it."""
        product = ranks[one] * ranks[two]
        further = _above(ranks[one], ranks[two]) + _above(ranks[two], ranks[one])
        return product.mean(), product + further - 3 * product.mean()

    (first, of_first), (second, of_second) = of_product(0, 0), of_product(1, 1)
    both, of_both = of_product(0, 1)
    influence: Float64[np.ndarray, " n"]
    influence = of_both - both / 2 * (of_first / first + of_second / second)
    influence /= (first * second) ** 0.5
    return influence


def _above(
    ranks: Float64[np.ndarray, " n"], values: Float64[np.ndarray, " n"]
) -> Float64[np.ndarray, " n"]:
    """Return the mean over all records of values where the rank is higher; equal ones count half.

    >>> _above(np.array([1.0, 2.0, 2.0]), np.array([3.0, 6.0, 9.0]))
    array([5.5, 2.5, 2.5])
    """
    _, place = np.unique(ranks, return_inverse=True)
    sums = np.bincount(place, values)
    of_rank = sums[::-1].cumsum()[::-1] - sums / 2
    above: Float64[np.ndarray, " n"] = of_rank[place] / len(values)
    return above
