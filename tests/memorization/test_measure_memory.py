"""The metrics need memory for one part, for any number of parts and records."""

import textwrap

from peakmemory import peak_memory_mb

MEASURE = textwrap.dedent(
    """
    import sys

    import numpy as np
    import pyarrow as pa

    from clipaudit.memorization.measures import AttackedPart, measure
    from clipaudit.memorization.recall import RECALLS

    parts, rows = int(sys.argv[1]), 50_000

    def part(shard):
        generator = np.random.default_rng(shard)
        address = {"shard": np.full(rows, shard, np.int32), "row": np.arange(rows, dtype="i4")}

        def recalls():
            correct = generator.integers(0, 4, rows).astype(np.int32)
            counts = {"truths": np.full(rows, 3, np.int32), "predicted": correct + 1}
            counts |= {"correct": correct, "top_predicted": correct + 1, "top_correct": correct}
            head = {"k": np.full(rows, 10, np.int32), "similarity": generator.random(rows)}
            return pa.table({**address, **head, **counts}, schema=RECALLS)

        sets = generator.integers(0, 3, rows)
        kept = {
            name: pa.table({**address, "kept": sets == place})
            for place, name in enumerate(("a", "b", "holdout"))
        }
        uids = pa.array(np.arange(rows)).cast(pa.string())
        samples = pa.table({**address, "uid": uids})
        return AttackedPart("web", {"a": recalls(), "b": recalls()}, kept, samples)

    asked = {"neighbors": [10], "shards": {"web": parts}, "seed": 0, "listed": 1_000}
    found = measure(map(part, range(parts)), **asked)
    (evaluated,) = {row["evaluated"] for row in found.gaps.to_pylist() if row["target"] == "mean"}
    assert evaluated > 0.6 * parts * rows  # A and B are two thirds of them
    """
)


def test_more_parts_need_no_more_memory():
    few, many = 2, 12  # 50,000 records each, 5.6 MB

    grown = peak_memory_mb(MEASURE, many) - peak_memory_mb(MEASURE, few)

    assert grown < 20  # of 56 MB more that are read
