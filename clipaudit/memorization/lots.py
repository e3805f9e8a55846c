"""Compute the lot of every sample of a pool, a hash of its group that decides its set.

A lot depends only on the seed and the group's own bytes, so adding shards changes no lot.
"""

import hashlib
from typing import Literal

import numpy as np
import pyarrow as pa

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.errors import InputError

Group = Literal["caption", "uid"]

# One row for each sample of the pool, in the order of SAMPLES.
LOTS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        # the lot of its group, high * 2^64 + low: samples of one group, and no others, share it
        pa.field("high", pa.uint64(), nullable=False),
        pa.field("low", pa.uint64(), nullable=False),
    ]
)
_TAGS: dict[Group, bytes] = {"caption": b"c", "uid": b"u"}


def draw_lots(samples: pa.Table, base: pa.Table, *, group: Group, seed: int) -> pa.Table:
    """Return the LOTS of the samples of a SAMPLES table that the MANIFEST `base` keeps, in order.

    Samples of one group share a lot: those with the same caption, byte by byte, or with the same
    uid. A lot is the first 16 bytes of SHA-256 over the seed (8 bytes, big-endian), one byte for
    the kind of group, and the caption or uid in UTF-8, as one big-endian number. Raises InputError
    for a sample without a caption if captions are the groups. Without samples there are no rows.
    """
    kept = base.filter(base["kept"])
    pool = samples.filter(pa.array(np.isin(sample_addresses(samples), sample_addresses(kept))))
    if pool[group].null_count:
        without = pool.filter(pool[group].is_null())
        raise InputError(
            f"shard {without['shard'][0]}, row {without['row'][0]}: it has no {group}, as "
            f"{len(without)} of {len(pool)} samples of these shards. Samples without a {group} "
            f"cannot be grouped by it: index the corpus with captions needed, or group by uid."
        )
    prefix = seed.to_bytes(8, "big") + _TAGS[group]
    names = pool[group].cast(pa.binary()).to_pylist()
    lots = b"".join(hashlib.sha256(prefix + name).digest()[:16] for name in names)
    halves = np.frombuffer(lots, dtype=">u8").astype(np.uint64).reshape(-1, 2)
    columns = {
        "shard": pool["shard"],
        "row": pool["row"],
        "high": halves[:, 0],
        "low": halves[:, 1],
    }
    return pa.table(columns, schema=LOTS)
