"""Sort the debiased subset's candidates into the audit's own clusters, where duplicates are sought.

Lin et al., ECCV 2024, Sec. 8: https://arxiv.org/abs/2312.14232, "perform deduplication in each
cluster based on the K-means label predicted in Sec. 4". SemDeDup orders a cluster by similarity to
its centroid in the space of embeddings; the clusters of Sec. 4 lie in the space of a PCA, so their
centroids are mapped back.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.splits import select_embeddings
from clipaudit.corpora.vectors import binary_rows, embedding_array
from clipaudit.deduplication.assignment import by_cluster
from clipaudit.deduplication.clustering import centroids_schema
from clipaudit.neighbors.cosines import paired_cosines
from clipaudit.parrot.clusters import matrix_of


def cluster_centroids(model: pa.Table) -> pa.Table:
    """Return the CENTROIDS of a CLUSTERING in the space of embeddings: unit rows, float16.

    A centroid is mapped back by the components and the mean. One at the origin stays zero.
    """
    mean, axes, centroids = (
        matrix_of(model, kind).astype(np.float64) for kind in ("mean", "component", "centroid")
    )
    vectors = mean + centroids @ axes
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float16)
    numbers = np.arange(len(units), dtype=np.int32)
    return pa.table([numbers, binary_rows(units)], schema=centroids_schema(units.shape[1]))


def cluster_candidates(
    centroids: pa.Table,
    placed: pa.Table,
    batches: Iterable[pa.Table | pa.RecordBatch],
    candidates: pa.Table,
) -> Iterator[pa.Table]:
    """Yield the CLUSTERED of the EMBEDDINGS of candidates, by (cluster, shard, row).

    `placed` is the PLACED of the same embeddings, row by row. The similarity is that to the
    cluster's centroid of CENTROIDS. The candidates' embeddings are held at once. No batch gives no
    table, and neither do batches without candidates.
    """
    middles = embedding_array(centroids, "centroids of clusters")
    known = sample_addresses(placed)
    order = np.argsort(known)
    labels = placed["cluster"].to_numpy()[order]
    addresses, clusters, similarities, vectors = [], [], [], []
    for rows in select_embeddings(batches, candidates):
        addresses.append(sample_addresses(rows))
        vectors.append(embedding_array(rows, "embeddings of candidates"))
        clusters.append(labels[np.searchsorted(known, addresses[-1], sorter=order)])
        similarities.append(paired_cosines(vectors[-1], middles[clusters[-1]]))
    if vectors:
        yield from by_cluster(addresses, clusters, similarities, vectors)
