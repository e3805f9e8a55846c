"""Cuts: splits of the records into A, B and hold-out, redrawn for each further seed of the models.

The records stay those of the first cut, the allotment, at each size of A and B. So a further cut
needs no new samples, and one unlucky cut does not recur under every seed.
"""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.errors import StoreError
from clipaudit.memorization.fixed import RECORD_SETS

# One row for each record, by (shard, row).
CUT = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("set", pa.string(), nullable=False),  # one of RECORD_SETS
        pa.field("place", pa.int64(), nullable=False),  # its rank in the set, by lot
    ]
)
_LOT = np.dtype([("lot", "S16"), ("address", np.int64)])


def cut_again(
    samples: Iterable[pa.Table], sizes: Mapping[str, int], *, cut: int, seed: int
) -> pa.Table:
    """Return the CUT number `cut`, 1 or more, of the records of a source.

    `samples` are the SAMPLES of all records: shard, row, uid. `sizes` has the number of records in
    each of RECORD_SETS, as in the first cut; raises StoreError if the total differs from the number
    of records. A lot is the first 16 bytes of SHA-256 over the seed and the cut (8 bytes each,
    big-endian), the letter k and the uid; the lowest lots are A, the next B, the others the
    hold-out. Tables and rows may be in any order; without records there are no rows. Memory: three
    times 24 bytes per record.
    """
    prefix = seed.to_bytes(8, "big") + cut.to_bytes(8, "big") + b"k"
    drawn = [np.empty(0, dtype=_LOT)]
    for table in samples:
        lots = np.empty(len(table), dtype=_LOT)
        uids = table["uid"].cast(pa.binary()).to_pylist()
        lots["lot"] = [hashlib.sha256(prefix + uid).digest()[:16] for uid in uids]
        lots["address"] = sample_addresses(table)
        drawn.append(lots)
    ordered = np.sort(np.concatenate(drawn), order=["lot", "address"])
    counts = [sizes.get(name, 0) for name in RECORD_SETS]
    if sum(counts) != len(ordered):
        raise StoreError(
            f"{len(ordered)} records, but the sets have {sum(counts)} together; draw the sets again"
        )
    shard, row = shards_and_rows(ordered["address"])
    table = pa.table(
        {
            "shard": shard,
            "row": row,
            "set": np.repeat(RECORD_SETS, counts),
            "place": np.concatenate([np.arange(count) for count in counts]),
        }
    ).cast(CUT)
    return table.take(pa.array(np.argsort(ordered["address"])))


def with_cut(allotted: pa.Table, cut: pa.Table) -> pa.Table:
    """Return an ALLOTMENT in which records have the set and the place of a CUT of their source.

    Samples that the cut lacks stay unchanged.
    """
    places = pc.index_in(pa.array(sample_addresses(allotted)), pa.array(sample_addresses(cut)))
    changed = allotted
    for name in ("set", "place"):
        column = pc.coalesce(cut[name].take(places), allotted[name])
        at = changed.column_names.index(name)
        changed = changed.set_column(at, allotted.schema.field(name), column)
    return changed


def within_cut(allotted: pa.Table, cut: pa.Table) -> Bool[np.ndarray, " n"]:
    """Return which rows of an ALLOTMENT a CUT has; it lacks those that only larger sets have."""
    inside: np.ndarray = np.isin(sample_addresses(allotted), sample_addresses(cut))
    return inside
