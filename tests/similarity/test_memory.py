"""The memory of a job of the nearest stage: by its blocks, not by the rows of its part."""

import subprocess
import sys
import textwrap

import pytest

JOB = textwrap.dedent(
    """
    import resource, sys
    from pathlib import Path

    import numpy as np
    import pyarrow as pa

    from clipaudit.neighbors.backends import quicker_backend
    from clipaudit.parquet import write_tables
    from clipaudit.similarity.nearest import SIMILARITIES, PartSearch, query_sets

    rows, queries, sets = map(int, sys.argv[1:4])
    DIMENSION, GROUP = 640, 65_536

    def embeddings(count, seed, shard=0):
        generator = np.random.default_rng(seed)
        rows = generator.standard_normal((count, DIMENSION), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        values = pa.Array.from_buffers(
            pa.binary(2 * DIMENSION), count, [None, pa.py_buffer(rows.astype("<f2").tobytes())]
        )
        number = np.arange(count, dtype=np.int32)
        return pa.table({"shard": np.full(count, shard, np.int32), "row": number,
                         "embedding": values})

    def train():
        for shard, start in enumerate(range(0, rows, GROUP)):
            yield from embeddings(min(GROUP, rows - start), shard, shard).to_batches()

    tests = {f"set{n}": embeddings(queries // sets, 10_000 + n) for n in range(sets)}
    found = query_sets(tests)
    search = PartSearch(found, k=10, block_rows=32_768, threads=2,
                        backend=quicker_backend(rows, *found.queries.vectors.shape))
    write_tables(search.similarities(train()), SIMILARITIES, Path(sys.argv[4]))
    search.neighbors()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    """
)


def peak_memory_mb(tmp_path, rows, queries):
    arguments = [str(rows), str(queries), "6", str(tmp_path / "similarities.parquet")]
    done = subprocess.run(
        [sys.executable, "-c", JOB, *arguments], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_memory_does_not_grow_with_the_rows_of_a_part(tmp_path):
    """2 million rows of 640 dimensions are 2.6 GB in float16."""
    tenth = peak_memory_mb(tmp_path, 200_000, 6_000)
    whole = peak_memory_mb(tmp_path, 2_000_000, 6_000)

    print(f"peak memory: {tenth} MB for 200,000 rows, {whole} MB for 2,000,000")
    assert whole < tenth + 150
    assert whole < 2_000


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_memory_grows_with_queries_by_their_own_size_alone(tmp_path):
    """8 kB each: 640 dimensions as read, joined, and widened for screening, and 10 neighbours."""
    few = peak_memory_mb(tmp_path, 200_000, 6_000)
    many = peak_memory_mb(tmp_path, 200_000, 60_000)

    print(f"peak memory: {few} MB for 6,000 queries, {many} MB for 60,000")
    assert (many - few) * 2**20 < 54_000 * 8_000
