"""How much more a target model recalls of the records that it shows best.

Jayaraman et al., NeurIPS 2024, Sec. 4.2 and Fig. 4: https://arxiv.org/abs/2402.02103. An F-score
is 0 where precision and recall are; the published code adds 1e-5 to the denominator.
"""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.addresses import sample_addresses, shard_row
from clipaudit.errors import InputError
from clipaudit.memorization.pairs import matched_recalls, mean_ratio

# One row per (sort, records, measure), in this order.
SAMPLE_GAPS = pa.schema(
    [
        # similarity: nearest to a public image first; correct: most correct labels first
        pa.field("sort", pa.string(), nullable=False),
        pa.field("records", pa.int64(), nullable=False),  # the first so many: 1, 10, 100, ..., all
        pa.field("share", pa.float64(), nullable=False),  # of the evaluated records
        # precision, recall: means; f_of_means: their harmonic mean, the published code's;
        # mean_f: the mean of the records' own F-scores
        pa.field("measure", pa.string(), nullable=False),
        pa.field("target", pa.float64(), nullable=False),
        pa.field("reference", pa.float64(), nullable=False),
        pa.field("gap", pa.float64(), nullable=False),  # target - reference
    ]
)


def sample_gaps(target: pa.Table, reference: pa.Table, samples: pa.Table) -> pa.Table:
    """Return the SAMPLE_GAPS of two models' RECALLS of one k, from their top labels (Fig. 4).

    `samples` gives the `uid` of each record by shard and row; further samples do not matter.
    Records are sorted by the target's similarity, those without a neighbour last, or by its number
    of correct labels; ties by uid, then (shard, row). All means are exact until they are written.
    Raise InputError as `pair_up` does, and for a record that `samples` lacks.
    """
    left, right = matched_recalls(target, reference)
    uids = _uids(left, samples)
    kept = pc.greater(left["truths"], 0)
    left, right, uids = left.filter(kept), right.filter(kept), uids.filter(kept)
    n = len(left)
    lengths = [10**power for power in range(len(str(n))) if 10**power < n] + [n] * (n > 0)
    models = {"target": left, "reference": right}
    rows = []
    for sort, column in (("similarity", "similarity"), ("correct", "top_correct")):
        order = _order(left, column, uids)
        ordered = {name: table.take(order) for name, table in models.items()}
        for length in lengths:
            found = {name: _scores(table.slice(0, length)) for name, table in ordered.items()}
            rows += [
                {
                    "sort": sort,
                    "records": length,
                    "share": length / n,
                    "measure": measure,
                    **{name: float(scores[measure]) for name, scores in found.items()},
                    "gap": float(value - found["reference"][measure]),
                }
                for measure, value in found["target"].items()
            ]
    return pa.Table.from_pylist(rows, SAMPLE_GAPS)


def _order(records: pa.Table, column: str, uids: pa.ChunkedArray) -> pa.Array:
    keys = pa.table({"key": records[column], "uid": uids, "address": sample_addresses(records)})
    return pc.sort_indices(
        keys,
        sort_keys=[
            ("key", "descending", "at_end"),
            ("uid", "ascending", "at_end"),
            ("address", "ascending", "at_end"),
        ],
    )


def _scores(records: pa.Table) -> dict[str, Fraction]:
    """Return the mean scores of some records, by SAMPLE_GAPS' measures."""
    names = ("truths", "top_correct", "top_predicted")
    truths, correct, predicted = (records[name].to_numpy().astype(np.int64) for name in names)
    precision = mean_ratio(correct, np.maximum(predicted, 1))
    recall = mean_ratio(correct, truths)
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f_of_means": 2 * precision * recall / both if both else Fraction(0),
        # the harmonic mean of c / p and c / t
        "mean_f": mean_ratio(2 * correct, predicted + truths),
    }


def _uids(records: pa.Table, samples: pa.Table) -> pa.ChunkedArray:
    """Return the uid of every record."""
    wanted, given = sample_addresses(records), sample_addresses(samples)
    places = pc.index_in(pa.array(wanted), pa.array(given))
    if places.null_count:
        pair = shard_row(int(wanted[places.is_null().to_numpy(zero_copy_only=False).argmax()]))
        raise InputError(
            f"samples: no sample (shard, row) {pair} among {len(given)}, but the recall test "
            f"holds {len(wanted)} records with it; give the samples that were tested"
        )
    return samples["uid"].take(places)
