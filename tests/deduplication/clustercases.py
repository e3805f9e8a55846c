"""Clusters that are hard to deduplicate, with plain computations of the removed samples."""

import numpy as np
import pyarrow as pa
from plaincosines import plain_cosines

from clipaudit.deduplication.assignment import clustered_schema


def grid_vectors(rng, n):
    """Vectors with many ties, copies and zeros, and chains of duplicates."""
    return rng.choice(np.array([-0.5, 0.0, 0.5], dtype=np.float16), size=(n, 4))


def clustered(vectors, *, cluster=0, shard=0, rows=None, centroid_similarity=None):
    """Return CLUSTERED rows; a single value applies to all rows."""
    vectors = np.asarray(vectors, dtype=np.float16)
    n, d = vectors.shape
    columns = [
        np.broadcast_to(np.int32(cluster), n),
        np.broadcast_to(np.int32(shard), n),
        np.arange(n, dtype=np.int32) if rows is None else np.array(rows, dtype=np.int32),
        np.zeros(n) if centroid_similarity is None else np.array(centroid_similarity, float),
        pa.array([vector.tobytes() for vector in vectors], pa.binary(2 * d)),
    ]
    return pa.table(columns, schema=clustered_schema(d)).sort_by(
        [("cluster", "ascending"), ("shard", "ascending"), ("row", "ascending")]
    )


def reader(*parts, batch_rows=1000):
    """Return a `Read` that gives all rows of these tables in batches, after an empty one."""

    def read(clusters):
        return [[part.slice(0, 0), *part.to_batches(max_chunksize=batch_rows)] for part in parts]

    return read


def similarities(vectors):
    return plain_cosines(vectors, vectors)


def nearest_earlier(similarity):
    """Return each sample's highest similarity to an earlier one, and that one; by loops."""
    found = []
    for later in range(len(similarity)):
        best = min(range(later), key=lambda rank: (-similarity[later, rank], rank), default=None)
        found.append((None, None) if best is None else (similarity[later, best], best))
    return found


def first_of_group(similarity, floor=-np.inf):
    """Return the highest level at which each sample's group has an earlier one, and its first."""
    found = [(None, None)] * len(similarity)
    for level in np.unique(similarity[similarity > floor]):
        near = (similarity >= level) | np.eye(len(similarity), dtype=bool)
        first = np.arange(len(similarity))
        for _ in first:  # the lowest rank spreads through the group
            first = np.where(near, first, len(first)).min(axis=1)
        for rank in np.flatnonzero(first < np.arange(len(first))):
            found[rank] = (level, first[rank])
    return found
