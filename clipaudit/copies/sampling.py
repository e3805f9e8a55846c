"""Draws the training images that are searched, if not all are: the first of a seeded order."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from clipaudit.corpora.places import places

# One row: the images whose place is at most `last` are searched, `searched` of `images`.
SAMPLE = pa.schema(
    [
        pa.field("last", pa.uint64(), nullable=False),
        pa.field("searched", pa.int64(), nullable=False),
        pa.field("images", pa.int64(), nullable=False),
    ]
)


def draw_sample(samples: Iterable[pa.Table], *, size: int | None, seed: int) -> pa.Table:
    """Return SAMPLE: the first `size` samples in the order of `seed`; None: all of them.

    `samples` have the columns shard and row, one table per part. A larger size only adds images,
    and so does a longer list of shards, until the sample is full.
    """
    found = [np.empty(0, np.uint64), *(_places(table, seed) for table in samples)]
    order = np.sort(np.concatenate(found))
    searched = len(order) if size is None else min(size, len(order))
    last = order[searched - 1] if searched else np.uint64(0)
    columns = [[last], [searched], [len(order)]]
    return pa.table(dict(zip(SAMPLE.names, columns, strict=True)), schema=SAMPLE)


def sampled(samples: pa.Table, sample: pa.Table, *, seed: int) -> pa.Table:
    """Return the rows of a part that are searched, in their order."""
    last = sample["last"][0].as_py() if sample["searched"][0].as_py() else -1
    within = (
        _places(samples, seed) <= np.uint64(last) if last >= 0 else np.zeros(len(samples), bool)
    )
    return samples.filter(pa.array(within))


def _places(samples: pa.Table, seed: int) -> np.ndarray:
    shard, row = (samples[name].to_numpy() for name in ("shard", "row"))
    return places(shard, row, seed=seed)
