"""Compute the gaps of the records on which a target model does best.

Jayaraman et al., NeurIPS 2024, Sec. 4.2 and Fig. 4: https://arxiv.org/abs/2402.02103. An F-score
is 0 if precision and recall are; the published code adds 1e-5 to the denominator, and counts all
predicted labels where the paper and this count the top ones. Sorting by the target's success also
selects its luck, so each list needs the same list of the hold-out beside it.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.errors import InputError
from clipaudit.memorization.pairs import Pairs, matched_recalls, mean_ratio, outcomes

MOST_LISTED = 100_000  # the longest list of first records; the next has all of them

# One row per (sort, records, measure), in this order.
SAMPLE_GAPS = pa.schema(
    [
        # similarity: nearest to a public image first; correct: most correct top labels first; gap:
        # most correct labels, top or not, beyond the reference model's first (`max_pred_gap`)
        pa.field("sort", pa.string(), nullable=False),
        # length of the list: 1, 10, 100, ... up to 100,000, and all
        pa.field("records", pa.int64(), nullable=False),
        pa.field("share", pa.float64(), nullable=False),  # of the evaluated records
        # precision, recall: means; f_of_means: their harmonic mean, the published code's;
        # mean_f: the mean of the records' own F-scores
        pa.field("measure", pa.string(), nullable=False),
        pa.field("target", pa.float64(), nullable=False),
        pa.field("reference", pa.float64(), nullable=False),
        pa.field("gap", pa.float64(), nullable=False),  # target - reference
    ]
)
SORTS = ("similarity", "correct", "gap")


class FirstRecords:
    """The first records of one attack in each order, from parts in any order.

    Memory: twice `most` records for each order, and one part.
    """

    def __init__(self, most: int = MOST_LISTED) -> None:
        """Start without records; at most `most` are listed one by one."""
        self._most = most
        self._first: dict[str, list[tuple[pa.Table, pa.Table]]] = {sort: [] for sort in SORTS}
        self._all: list[Pairs] = []

    def add(self, target: pa.Table, reference: pa.Table, samples: pa.Table) -> None:
        """Let the records of a part compete: two models' RECALLS of one k, from their top labels.

        `samples` gives the `uid` of each record by shard and row; further samples do not matter.
        Raises InputError as `matched_recalls`, and for a record that `samples` lacks.
        """
        left, right = matched_recalls(target, reference)
        left = left.append_column("uid", _uids(left, samples))
        kept = pc.greater(left["truths"], 0)
        both = left.filter(kept), right.filter(kept)
        self._all = [Pairs.joined([*self._all, outcomes(*both, top=True)])]
        for sort in SORTS:
            self._first[sort].append(_ordered(sort, [both], self._most))
            if sum(len(table) for table, _ in self._first[sort]) > 2 * self._most:
                self._first[sort] = [_ordered(sort, self._first[sort], self._most)]

    def gaps(self) -> pa.Table:
        """Return the SAMPLE_GAPS of all records so far, without rows if no record has a label.

        Records are sorted by the target's similarity, those without a neighbour last, by its number
        of correct labels, or by how many more these are than the reference's; ties by uid, then
        (shard, row). All means are exact until they are written.
        """
        every = Pairs.joined(self._all)
        if not every.size:
            return SAMPLE_GAPS.empty_table()
        longest = min(self._most, every.size - 1)
        lengths = [10**power for power in range(len(str(longest))) if 10**power <= longest]
        rows = []
        for sort in SORTS:
            target, reference = _ordered(sort, self._first[sort], self._most)
            lists = {
                length: outcomes(target.slice(0, length), reference.slice(0, length), top=True)
                for length in lengths
            }
            for length, pairs in {**lists, every.size: every}.items():
                rows += _rows(sort, length, every.size, pairs)
        return pa.Table.from_pylist(rows, SAMPLE_GAPS)


def _ordered(
    sort: str, tables: Sequence[tuple[pa.Table, pa.Table]], most: int
) -> tuple[pa.Table, pa.Table]:
    """Return the first records of both models' tables in one order."""
    target, reference = (pa.concat_tables(each) for each in zip(*tables, strict=True))
    keys = {
        "similarity": target["similarity"],
        "correct": target["top_correct"],
        "gap": pc.subtract(target["correct"], reference["correct"]),
    }
    ordered = pc.sort_indices(
        pa.table({"key": keys[sort], "uid": target["uid"], "address": sample_addresses(target)}),
        sort_keys=[
            ("key", "descending", "at_end"),
            ("uid", "ascending", "at_end"),
            ("address", "ascending", "at_end"),
        ],
    )[:most]
    return target.take(ordered), reference.take(ordered)


def _rows(sort: str, length: int, size: int, pairs: Pairs) -> list[dict[str, object]]:
    """Return the rows of one list of records."""
    target = _scores(pairs.truths, pairs.target_correct, pairs.target_predicted, pairs.records)
    reference = _scores(
        pairs.truths, pairs.reference_correct, pairs.reference_predicted, pairs.records
    )
    return [
        {
            "sort": sort,
            "records": length,
            "share": length / size,
            "measure": measure,
            "target": float(value),
            "reference": float(reference[measure]),
            "gap": float(value - reference[measure]),
        }
        for measure, value in target.items()
    ]


def _scores(
    truths: np.ndarray, correct: np.ndarray, predicted: np.ndarray, records: np.ndarray
) -> dict[str, Fraction]:
    """Return the mean scores of some records, by SAMPLE_GAPS' measures."""
    precision = mean_ratio(correct, np.maximum(predicted, 1), records)
    recall = mean_ratio(correct, truths, records)
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f_of_means": 2 * precision * recall / both if both else Fraction(0),
        # the harmonic mean of c / p and c / t
        "mean_f": mean_ratio(2 * correct, predicted + truths, records),
    }


def _uids(records: pa.Table, samples: pa.Table) -> pa.ChunkedArray:
    """Return the uid of every record."""
    wanted, given = sample_addresses(records), sample_addresses(samples)
    places = pc.index_in(pa.array(wanted), pa.array(given))
    if places.null_count:
        pair = shard_row(int(wanted[places.is_null().to_numpy(zero_copy_only=False).argmax()]))
        raise InputError(
            f"samples: no sample (shard, row) {pair} among the {len(given)} given, but the recall "
            "test holds a record with it; give the samples that were tested"
        )
    return samples["uid"].take(places)
