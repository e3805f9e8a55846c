"""Cuts: which records are A, B and the hold-out, drawn anew for each further seed of the models.

The pool stays: the records of the three sets that repeat no other one. So a further cut costs no
further sample, and one unlucky cut does not recur under every seed. The first cut is the allotment.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.errors import ConfigError
from clipaudit.memorization.settings import RECORD_SETS

# One row for each record of the pool, by (shard, row).
CUT = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("set", pa.string(), nullable=False),  # one of RECORD_SETS
        pa.field("place", pa.int64(), nullable=False),  # its rank in the set, by lot
        pa.field("records", pa.int64(), nullable=False),  # of the set
    ]
)
_LOT = np.dtype([("lot", "S16"), ("address", np.int64)])


def cut_again(members: Iterable[pa.Table], *, cut: int, seed: int) -> pa.Table:
    """Return the CUT number `cut`, 1 or more, of the records among the MEMBERS of a source.

    Each set has as many records as before. A lot is the first 16 bytes of SHA-256 over the seed and
    the cut (8 bytes each, big-endian), the letter k and the uid; the lowest lots are A, the next B,
    the others the hold-out. Tables may come in any order, as may their rows; no records give no
    rows. Memory: 24 bytes a record, thrice.
    """
    prefix = seed.to_bytes(8, "big") + cut.to_bytes(8, "big") + b"k"
    drawn = [np.empty(0, dtype=_LOT)]
    sizes = dict.fromkeys(RECORD_SETS, 0)
    for table in members:
        records = table.filter(pc.is_in(table["set"], pa.array(RECORD_SETS)))
        for name in RECORD_SETS:
            sizes[name] += pc.sum(pc.equal(records["set"], name)).as_py() or 0
        lots = np.empty(len(records), dtype=_LOT)
        uids = records["uid"].cast(pa.binary()).to_pylist()
        lots["lot"] = [hashlib.sha256(prefix + uid).digest()[:16] for uid in uids]
        lots["address"] = sample_addresses(records)
        drawn.append(lots)
    ordered = np.sort(np.concatenate(drawn), order=["lot", "address"])
    counts = list(sizes.values())
    shard, row = shards_and_rows(ordered["address"])
    table = pa.table(
        {
            "shard": shard,
            "row": row,
            "set": np.repeat(RECORD_SETS, counts),
            "place": np.concatenate([np.arange(count) for count in counts]),
            "records": np.repeat(counts, counts),
        }
    ).cast(CUT)
    return table.take(pa.array(np.argsort(ordered["address"])))


def with_cut(allotted: pa.Table, cut: pa.Table) -> pa.Table:
    """Return an ALLOTMENT in which records have the set and the place of a CUT of their source.

    Samples that the cut lacks stay as they are.
    """
    places = pc.index_in(pa.array(sample_addresses(allotted)), pa.array(sample_addresses(cut)))
    changed = allotted
    for name in ("set", "place"):
        column = pc.coalesce(cut[name].take(places), allotted[name])
        at = changed.column_names.index(name)
        changed = changed.set_column(at, allotted.schema.field(name), column)
    return changed


def within_cut(
    allotted: pa.Table, cut: pa.Table, *, set: str, size: int | float, own: int | float
) -> Bool[np.ndarray, " n"]:
    """Return which rows of an ALLOTMENT are in `set` of a CUT if it were of `size`; others are not.

    `own` is the size that the set was drawn with. The smaller set holds the first `size` places, or
    the same share of the set's records, rounded down. ConfigError for a size above the set's own.
    """
    if size > own:
        raise ConfigError(f"set {set}: a smaller size of {size}, and the set's own is {own}")
    inside = cut.filter(pc.equal(cut["set"], set))
    limit = (
        np.full(len(inside), size)
        if isinstance(size, int)
        else np.floor(inside["records"].to_numpy() * (size / own))
    )
    inside = inside.filter(pa.array(inside["place"].to_numpy() < limit))
    chosen: np.ndarray = np.isin(sample_addresses(allotted), sample_addresses(inside))
    return chosen
