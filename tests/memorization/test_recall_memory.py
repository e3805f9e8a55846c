"""The recall test needs memory only for the public images that were retrieved."""

import textwrap

from peakmemory import peak_memory_mb

RECALL = textwrap.dedent(
    """
    import sys

    import numpy as np
    import pyarrow as pa

    from clipaudit.memorization.recall import RETRIEVED, recall_test, retrieved_images

    pieces, rows = int(sys.argv[1]), 100_000

    def images(shard, count):
        labels = pa.array(np.arange(8 * count, dtype=np.int32) % 50)
        offsets = pa.array(np.arange(count + 1, dtype=np.int32) * 8)
        address = {"shard": np.full(count, shard, np.int32), "row": np.arange(count, dtype="i4")}
        return pa.table({**address, "labels": pa.ListArray.from_arrays(offsets, labels)})

    records, k = 2_000, 10
    near = np.arange(records * k, dtype=np.int32)
    retrieved = pa.table(
        {
            "shard": np.zeros(records * k, np.int32),
            "row": near // k,
            "rank": near % k,
            "similarity": np.zeros(records * k),
            "public_shard": near % 2,
            "public_row": near,
        },
        schema=RETRIEVED,
    )
    public = retrieved_images((images(shard, rows) for shard in range(pieces)), retrieved)
    assert len(recall_test(retrieved, images(0, records), public, ks=[k])) == records
    """
)


def test_more_public_images_need_no_more_memory():
    few, many = 4, 40  # 100,000 images each, 4.4 MB

    grown = peak_memory_mb(RECALL, many) - peak_memory_mb(RECALL, few)

    assert grown < 20  # of 158 MB more that are read
