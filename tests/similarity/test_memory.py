"""A job of the nearest stage needs memory for its blocks, not for all rows of its part."""

import textwrap

import numpy as np
import pyarrow as pa
import pytest
from peakmemory import peak_memory_mb

from clipaudit.store.parquet import write_tables

DIMENSION, SHARD_ROWS = 640, 65_536
JOB = textwrap.dedent(
    """
    import sys
    from pathlib import Path

    import pyarrow.parquet as pq

    from clipaudit.ahead import one_ahead
    from clipaudit.neighbors.backends import quicker_backend, search
    from clipaudit.store.parquet import read_batches, write_tables
    from clipaudit.similarity.nearest import SIMILARITIES, PartSearch, query_sets

    train, tests, similarities = map(Path, sys.argv[1:4])
    names = [f"set{n}" for n in range(6)]
    found = query_sets({name: pq.ParquetFile(tests / name).read() for name in names})
    rows = pq.read_metadata(train).num_rows
    backend = quicker_backend(rows, *found.queries.vectors.shape)
    engine = search(found.queries, k=10, block_rows=32_768, threads=2, backend=backend)
    part = PartSearch(found, engine, block_rows=32_768)
    tables = part.similarities(one_ahead(read_batches(train)))
    write_tables(one_ahead(tables), SIMILARITIES, similarities)
    part.neighbors()
    """
)


def embeddings(rows, seed=0):
    """Yield a shard's rows at a time."""
    for shard, start in enumerate(range(0, rows, SHARD_ROWS)):
        count = min(SHARD_ROWS, rows - start)
        generator = np.random.default_rng([seed, shard])
        vectors = generator.standard_normal((count, DIMENSION), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        values = pa.Array.from_buffers(
            pa.binary(2 * DIMENSION), count, [None, pa.py_buffer(vectors.astype("<f2").tobytes())]
        )
        columns = {"shard": np.full(count, shard, np.int32), "row": np.arange(count, dtype="i4")}
        yield pa.table({**columns, "embedding": values})


def store(rows, path, seed=0):
    write_tables(embeddings(rows, seed), next(embeddings(1)).schema, path)


def peak_of_search(tmp_path, rows, queries):
    store(rows, tmp_path / "train")
    for number in range(6):
        store(queries // 6, tmp_path / f"set{number}", seed=number + 1)
    arguments = [tmp_path / "train", tmp_path, tmp_path / "similarities"]
    peak = peak_memory_mb(JOB, *arguments)
    (tmp_path / "train").unlink()  # pytest keeps the folder
    return peak


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_memory_does_not_grow_with_the_rows_of_a_part(tmp_path):
    """700,000 rows of 640 dimensions are 0.9 GB in float16."""
    some = peak_of_search(tmp_path, 200_000, 6_000)
    whole = peak_of_search(tmp_path, 700_000, 6_000)

    print(f"peak memory: {some} MB for 200,000 rows, {whole} MB for 700,000")
    assert whole < some + 100  # sometimes one more block: 42 MB
    assert whole < 600


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_memory_grows_with_queries_only_by_their_own_size(tmp_path):
    """8 kB each: 640 dimensions as read, joined, and packed for screening, and 10 neighbours."""
    few = peak_of_search(tmp_path, 200_000, 6_000)
    many = peak_of_search(tmp_path, 200_000, 60_000)

    print(f"peak memory: {few} MB for 6,000 queries, {many} MB for 60,000")
    assert (many - few) * 2**20 < 54_000 * 8_000
