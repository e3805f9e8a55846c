"""Trains k-means on a sample of a corpus: the centroids of deduplication's clusters.

Abbas et al., 2023 (SemDeDup): https://arxiv.org/abs/2303.09540, as Mayilvahanan et al., ICLR 2024,
use it (https://arxiv.org/abs/2310.09562, Sec. 3). Differences: the sample is the head of one seeded
order of all addresses, and centroids are float16, so that a sample's most similar centroid is
exact. The second paper's code clusters otherwise: Euclidean k-means of all embeddings, from random
ones of which no two are more similar than 0.9, until one in ten million changes its cluster.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

import numpy as np
import pyarrow as pa
from jaxtyping import Float16, Int64, UInt64

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.places import places
from clipaudit.corpora.vectors import binary_rows, embedding_array
from clipaudit.deduplication.fixed import LEAST_ROWS
from clipaudit.deduplication.kmeans import MOST_ROWS, spherical_kmeans
from clipaudit.errors import ConfigError, TooSmall
from clipaudit.neighbors.interface import Resources, check_norms, vector_norms

ROWS_PER_CLUSTER = 256  # sampled for each: more barely move a centroid (faiss's own limit)
STRIP_ROWS = 4_096  # rows widened to float32 at once
SPARE_ROWS = 65_536  # gathered beyond the sample before it is trimmed: memory, never results


def centroids_schema(dimension: int) -> pa.Schema:
    """Return the schema of CENTROIDS: numbered from 0; unit rows, float16 little-endian."""
    return pa.schema(
        [
            pa.field("cluster", pa.int32(), nullable=False),
            pa.field("embedding", pa.binary(2 * dimension), nullable=False),
        ],
        metadata={"dimension": str(dimension), "dtype": "float16"},
    )


def train_centroids(
    batches: Iterable[pa.Table | pa.RecordBatch],
    *,
    clusters: int,
    iterations: int,
    seed: int,
    sample: int,
    scratch: Path,
    follow: bool = False,
    backend: str | None = None,
    **resources: Unpack[Resources],
) -> pa.Table:
    """Return the CENTROIDS of spherical k-means on `sample` of the EMBEDDINGS, or all if fewer.

    `batches` are read once, in any order and split. Only the sample is held in memory: float16,
    twice at the end. The drawn samples depend only on addresses and `seed`. A killed run resumes
    from the folder `scratch`; the sample is gathered again. `backend` and `resources` do not affect
    the result: see `kmeans.spherical_kmeans`.

    A cluster that loses its last sample takes over half of another. A centroid whose samples
    cancel each other out stays zero: its similarity to everything is 0, so it is never better than
    a centroid on the right side. Raises ConfigError for fewer embeddings than clusters. With
    `follow`, there are at most as many clusters as have LEAST_ROWS embeddings each.
    """
    if not 1 <= clusters <= sample:
        raise ConfigError(
            f"k-means: {clusters} clusters from a sample of {sample}. Set 1 cluster or more and a "
            f"sample at least as large; {ROWS_PER_CLUSTER} times as large is customary."
        )
    if sample > MOST_ROWS:
        raise ConfigError(
            f"k-means: a sample of {sample:,}; its sums are exact up to {MOST_ROWS:,}. Set fewer "
            "clusters or fewer samples per cluster."
        )
    drawn = Drawn(sample, seed)
    for batch in batches:
        drawn.add(batch)
    if follow:
        clusters = max(1, min(clusters, drawn.seen // LEAST_ROWS))
    if drawn.seen < clusters:
        raise TooSmall(
            f"k-means: {clusters} clusters of {drawn.seen} embeddings. Set at most as many "
            "clusters as there are embeddings, or embed more shards."
        )
    addresses, vectors = drawn.rows()
    for start in range(0, len(vectors), STRIP_ROWS):
        strip = slice(start, start + STRIP_ROWS)
        check_norms(vector_norms(vectors[strip]), addresses[strip], "train")
    centroids = spherical_kmeans(
        vectors,
        clusters,
        iterations=iterations,
        seed=seed,
        scratch=scratch,
        backend=backend,
        **resources,
    )
    columns = [np.arange(clusters, dtype=np.int32), binary_rows(centroids)]
    return pa.table(columns, schema=centroids_schema(centroids.shape[1]))


class Drawn:
    """The first samples in a seeded random order of all addresses, gathered from streamed rows.

    Memory: the sample and a quarter of it (or SPARE_ROWS), in float16.
    """

    def __init__(self, size: int, seed: int) -> None:
        """Draw at most `size` samples."""
        self.seen = 0  # rows read so far
        self._size = size
        self._seed = seed
        self._last = np.uint64(2**64 - 1)  # no place after this one can be in the sample
        self._chunks: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._held = 0

    def add(self, batch: pa.Table | pa.RecordBatch) -> None:
        """Add rows of EMBEDDINGS, in any order, as candidates for the sample."""
        place = places(batch["shard"].to_numpy(), batch["row"].to_numpy(), seed=self._seed)
        early = place <= self._last
        vectors = embedding_array(batch, "embeddings to cluster")
        self._chunks.append((place[early], sample_addresses(batch)[early], vectors[early]))
        self.seen += len(place)
        self._held += int(early.sum())
        if self._held > self._size + max(self._size // 4, SPARE_ROWS):
            self._cut_back()

    def rows(self) -> tuple[Int64[np.ndarray, " n"], Float16[np.ndarray, "n d"]]:
        """Return the sample's addresses, rising, and its vectors; end the gathering."""
        self._cut_back()
        addresses = np.concatenate([chunk[1] for chunk in self._chunks])
        vectors = np.empty((self._held, self._chunks[0][2].shape[1]), dtype=np.float16)
        filled = 0
        while self._chunks:  # each chunk is freed as soon as it is copied
            chunk = self._chunks.pop(0)[2]
            vectors[filled : filled + len(chunk)] = chunk
            filled += len(chunk)
        if np.all(np.diff(addresses) > 0):
            return addresses, vectors
        order = np.argsort(addresses)
        return addresses[order], vectors[order]

    def _cut_back(self) -> None:
        if self._held <= self._size:
            return
        every: UInt64[np.ndarray, " m"] = np.concatenate([chunk[0] for chunk in self._chunks])
        self._last = np.partition(every, self._size - 1)[self._size - 1]
        for index, chunk in enumerate(self._chunks):  # in place: never two copies of all
            early = chunk[0] <= self._last
            self._chunks[index] = (chunk[0][early], chunk[1][early], chunk[2][early])
        self._held = self._size  # no two samples share a place
