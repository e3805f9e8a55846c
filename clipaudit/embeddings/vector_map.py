"""Maps embeddings to a plane, where neighbours among the vectors stay neighbours.

Principal components come first, then t-SNE (van der Maaten and Hinton, 2008) by Barnes and Hut's
tree: 5,000 points take 20 s and some 300 MB on one core.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
from jaxtyping import Float16, Float32

from clipaudit.corpora.addresses import shards_and_rows
from clipaudit.embeddings.sampling import drawn_embeddings

COMPONENTS = 50  # principal components; van der Maaten and Hinton take 30 to 50
PERPLEXITY = 30.0  # neighbours that count; fewer if there are not three times as many points
FEWEST = 4  # points; with fewer, their principal components are the map

# One row per sample: those of the corpus, then those of each test set, each by (shard, row).
VECTOR_MAP = pa.schema(
    [
        pa.field("testset", pa.string()),  # null: a sample of the corpus itself
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("x", pa.float32(), nullable=False),
        pa.field("y", pa.float32(), nullable=False),
    ]
)


def map_vectors(
    embeddings: Iterable[pa.Table | pa.RecordBatch],
    tests: Mapping[str, Iterable[pa.Table | pa.RecordBatch]],
    *,
    samples: int,
    test_samples: int,
    seed: int,
) -> pa.Table:
    """Return VECTOR_MAP of a random sample of a corpus, and of one of each test set.

    `embeddings` are EMBEDDINGS of the corpus, `tests` those of each test set by the same encoder;
    each is read once. At most `samples` rows are of the corpus, `test_samples` of each test set:
    those with the lowest `places`. Without samples there are no rows.
    """
    asked = [(None, embeddings, samples), *((*each, test_samples) for each in tests.items())]
    names, addresses, vectors = [], [], []
    for name, batches, count in asked:
        place = "embeddings to be mapped"
        found, rows = drawn_embeddings(batches, count, seed=seed, place=place)
        if len(found):
            names += [name] * len(found)
            addresses.append(found)
            vectors.append(rows)
    if not names:
        return VECTOR_MAP.empty_table()
    shards, numbers = shards_and_rows(np.concatenate(addresses))
    on_plane = planar(np.concatenate(vectors), seed=seed)
    columns = [pa.array(names, pa.string()), shards, numbers, on_plane[:, 0], on_plane[:, 1]]
    return pa.table(columns, schema=VECTOR_MAP)


def planar(vectors: Float16[np.ndarray, "n d"], *, seed: int) -> Float32[np.ndarray, "n 2"]:
    """Return a place on a plane for each row, by the rows' directions.

    The same rows and seed give the same bytes with any number of threads: a single one computes, in
    a fixed order of sums. Rows that are all equal are at 0.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    rows = vectors.astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    places = np.zeros((len(rows), 2), np.float32)
    if (rows == rows[:1]).all():
        return places
    with threadpool_limits(1):
        pca = PCA(min(COMPONENTS, *rows.shape), svd_solver="covariance_eigh")
        components = pca.fit_transform(rows).astype(np.float32)
        first = components[:, :2]
        places[:, : first.shape[1]] = first
        if len(rows) < FEWEST:
            return places
        found: Float32[np.ndarray, "n 2"] = TSNE(
            perplexity=min(PERPLEXITY, (len(rows) - 1) / 3),
            init=places / places[:, 0].std() * 1e-4,
            random_state=seed,
        ).fit_transform(components)
    return found
