"""Assigns each sample to its most similar centroid, and sorts samples by cluster.

The nearest engine compares every pair of a sample and a centroid, so this step is exact.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

import numpy as np
import pyarrow as pa
from jaxtyping import Float16, Float64, Int32, Int64

from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.corpora.vectors import binary_rows, embedding_array
from clipaudit.neighbors.backends import search
from clipaudit.neighbors.interface import Queries, Resources
from clipaudit.store.parquet import GROUP_KEY

ROWS_PER_GROUP = 1_024  # of the stored file: a range of clusters has few of a part's rows
TABLE_ROWS = 16_384  # rows of a yielded table: memory, never results


def clustered_schema(dimension: int) -> pa.Schema:
    """Return the schema of CLUSTERED: a part's samples by (cluster, shard, row)."""
    return pa.schema(
        [
            pa.field("cluster", pa.int32(), nullable=False),
            pa.field("shard", pa.int32(), nullable=False),
            pa.field("row", pa.int32(), nullable=False),
            pa.field("centroid_similarity", pa.float64(), nullable=False),  # to the cluster's own
            pa.field("embedding", pa.binary(2 * dimension), nullable=False),
        ],
        metadata={
            "dimension": str(dimension),
            "dtype": "float16",
            GROUP_KEY: str(ROWS_PER_GROUP),
        },
    )


def centroid_queries(centroids: pa.Table) -> Queries:
    """Return CENTROIDS as the queries of a search, addressed by cluster."""
    clusters: np.ndarray = centroids["cluster"].to_numpy().astype(np.int64)
    vectors = embedding_array(centroids, "centroids")
    return Queries(vectors, (0, len(vectors)), clusters)


def assign_clusters(
    centroids: Queries,
    batches: Iterable[pa.Table | pa.RecordBatch],
    *,
    backend: str = "torch",
    **resources: Unpack[Resources],
) -> Iterator[pa.Table]:
    """Yield the CLUSTERED of a part's EMBEDDINGS: every row with its most similar centroid.

    Similarity is the cosine of float16 centroid and float16 embedding; ties go to the lowest
    cluster. Rows are sorted by (cluster, shard, row), so that a range of clusters is a range of
    rows. For this, the part's embeddings are held once, as stored. No rows give no table.
    `backend` and `resources` do not affect the result, see `backends.search`.
    """
    engine = search(centroids, k=1, backend=backend, **resources)
    addresses, clusters, similarities = [], [], []
    vectors: list[np.ndarray] = []
    for batch in batches:
        addresses.append(sample_addresses(batch))
        vectors.append(embedding_array(batch, "embeddings to assign"))
        best = engine.rows(addresses[-1], vectors[-1])
        clusters.append(centroids.addresses[best.query[:, 0]])
        similarities.append(best.similarity[:, 0])
    if not vectors:
        return
    yield from by_cluster(addresses, clusters, similarities, vectors)


def by_cluster(
    addresses: Sequence[Int64[np.ndarray, " _"]],
    clusters: Sequence[Int64[np.ndarray, " _"] | Int32[np.ndarray, " _"]],
    similarities: Sequence[Float64[np.ndarray, " _"]],
    vectors: Sequence[Float16[np.ndarray, "_ d"]],
) -> Iterator[pa.Table]:
    """Yield the CLUSTERED of a part's rows, each given as blocks of the same lengths.

    A row has an address, a cluster, the similarity to its centroid and an embedding. At least one
    block is needed; blocks without rows give no table.
    """
    address, cluster = np.concatenate(addresses), np.concatenate(clusters)
    similarity = np.concatenate(similarities)
    order = np.lexsort((address, cluster))
    for start in range(0, len(order), TABLE_ROWS):
        rows = order[start : start + TABLE_ROWS]
        shard, row = shards_and_rows(address[rows])
        columns = {
            "cluster": cluster[rows].astype(np.int32),
            "shard": shard,
            "row": row,
            "centroid_similarity": similarity[rows],
            "embedding": binary_rows(_gather(vectors, rows)),
        }
        yield pa.table(columns, schema=clustered_schema(vectors[0].shape[1]))


def _gather(
    blocks: Sequence[Float16[np.ndarray, "_ d"]], rows: Int64[np.ndarray, " m"]
) -> Float16[np.ndarray, "m d"]:
    """Return rows of the blocks, numbered over all blocks, without joining the blocks."""
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    block = np.searchsorted(starts, rows, side="right") - 1
    gathered = np.empty((len(rows), blocks[0].shape[1]), dtype=np.float16)
    for number in np.unique(block):
        here = block == number
        gathered[here] = blocks[number][rows[here] - starts[number]]
    return gathered
