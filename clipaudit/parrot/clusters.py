"""Cluster similar images: PCA, k-means, and k-means of the centroids into groups.

Lin et al., ECCV 2024, Sec. 4.1, Sec. 11, Fig. 3: https://arxiv.org/abs/2312.14232. The paper does
not say how 4,000 clusters became 100; here k-means of the centroids, each counted once, does it.
The sample is the head of one seeded order of all addresses. Exact sums find an image's nearest
centroid.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float16, Float32, Float64, Int32

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.vectors import embedding_array
from clipaudit.deduplication.clustering import Drawn
from clipaudit.errors import InputError, StepError, StoreError, TooSmall
from clipaudit.neighbors.interface import check_norms, vector_norms
from clipaudit.parrot.fixed import MOST_CLUSTERS
from clipaudit.parrot.settings import Clusters

ROWS_PER_DIMENSION = 5  # of a step of the incremental PCA: scikit-learn's own choice
# the paper's numbers, or fewer, if the settings name none
MOST_COMPONENTS, MOST_GROUPS = 256, 100
LEAST_PICTURES = 39  # per cluster: faiss warns below
STRIP_ROWS = 1_024  # rows compared with all centroids at once: memory, never results

# Embeddings are multiples of 2^-24 of norm at most 4. With directions on a grid of 2^-20 and
# offsets on one of 2^-44, products and sums are multiples of 2^-44 below 2^7: exact in float64.
DIRECTION_GRID = 2.0**20
OFFSET_GRID = 2.0**44
LONGEST = 8.0  # distance of a centroid from the mean: vectors have norm 4 at most

# First the mean, then the components by falling variance, then the centroids.
CLUSTERING = pa.schema(
    [
        pa.field("kind", pa.string(), nullable=False),  # "mean", "component" or "centroid"
        pa.field("number", pa.int32(), nullable=False),  # from 0 within its kind
        # mean and components: as long as an embedding; centroids: in the components, mean removed
        pa.field(
            "vector", pa.list_(pa.field("item", pa.float32(), nullable=False)), nullable=False
        ),
        pa.field("group", pa.int32()),  # of a centroid; null: not a centroid
    ]
)

# One row per image, in the order of its embeddings.
PLACED = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("cluster", pa.int32(), nullable=False),  # the nearest centroid's number
        pa.field("group", pa.int32(), nullable=False),  # of that centroid
    ]
)


def fit_clusters(
    batches: Iterable[pa.Table | pa.RecordBatch],
    asked: Clusters,
    *,
    threads: int,
) -> pa.Table:
    """Return the CLUSTERING of `samples_per_cluster` EMBEDDINGS per cluster, or of all if fewer.

    `batches` are read once, in any order and split in any way. Only the sample is held in memory:
    in float16, then in float32 by component. The draw of samples depends only on addresses and the
    seed. This is a numeric step: the values depend on scikit-learn, faiss, their BLAS and
    `threads`.

    Distances are Euclidean. A cluster that loses its last sample takes over half of another, as in
    faiss. Default numbers are 4,000 clusters, or one per 39 embeddings if fewer; 256 components, or
    the number of dimensions or embeddings if lower; 100 groups, or the number of clusters if lower.

    Raises TooSmall for more components or clusters than embeddings, or more groups than clusters;
    InputError for more components than dimensions, or an embedding that is not finite.
    """
    # threadpool_limits limits only libraries that are loaded
    import faiss  # noqa: F401
    import sklearn.decomposition  # noqa: F401
    from threadpoolctl import threadpool_limits

    drawn = Drawn((asked.clusters or MOST_CLUSTERS) * asked.samples_per_cluster, asked.seed)
    for batch in batches:
        drawn.add(batch)
    if drawn.seen < max(asked.components or 1, asked.clusters or 1):
        raise TooSmall(
            f"clusters: {asked.components or 1} components and {asked.clusters or 1} clusters of "
            f"{drawn.seen} embeddings. Ask for at most as many as there are embeddings, or embed "
            "more shards."
        )
    addresses, vectors = drawn.rows()
    components, clusters, groups = _sizes(asked, len(vectors), vectors.shape[1])
    if components > vectors.shape[1]:
        raise InputError(
            f"clusters: {components} components of embeddings of dimension {vectors.shape[1]}. "
            "Ask for at most as many components as dimensions, or take another encoder."
        )
    for strip in _strips(len(vectors), STRIP_ROWS):
        check_norms(vector_norms(vectors[strip]), addresses[strip], "drawn")
    with threadpool_limits(threads):
        mean, axes = _principal_axes(vectors, components)
        reduced = _reduce(vectors, mean, axes)
        centroids = _kmeans(reduced, clusters, asked)
        centers = _kmeans(centroids, groups, asked)
        group = _nearest_center(centroids, centers)
    return _clustering(mean, axes, centroids, group)


def place(
    model: pa.Table, batches: Iterable[pa.Table | pa.RecordBatch], *, strip_rows: int = STRIP_ROWS
) -> Iterator[pa.Table]:
    """Yield the PLACED of EMBEDDINGS, a table for each batch, with rows in their order.

    An image belongs to the centroid of the CLUSTERING `model` nearest to its embedding in the space
    of the components, the lowest number in a tie. Batches and `strip_rows` do not affect the
    result, since the compared sums are exact. An empty batch gives an empty table. Embeddings of
    another dimension than the model's raise InputError.
    """
    nearest = _Nearest.of(model)
    for batch in batches:
        vectors = embedding_array(batch, "embeddings to place")
        d = len(nearest.directions)
        if vectors.shape[1] != d:
            raise InputError(
                f"embeddings of dimension {vectors.shape[1]} against clusters of dimension {d}; "
                "place the embeddings of the encoder that the clusters were made with"
            )
        check_norms(vector_norms(vectors), sample_addresses(batch), "embedded")
        cluster = np.empty(len(vectors), dtype=np.int32)
        for strip in _strips(len(vectors), strip_rows):
            cluster[strip] = nearest.clusters(vectors[strip])
        columns = {
            "shard": batch.column("shard"),
            "row": batch.column("row"),
            "cluster": cluster,
            "group": nearest.groups[cluster],
        }
        yield pa.table(columns, schema=PLACED)


def _sizes(asked: Clusters, drawn: int, dimensions: int) -> tuple[int, int, int]:
    """Return the numbers of components, clusters and groups for a sample of embeddings."""
    clusters = asked.clusters or max(1, min(MOST_CLUSTERS, drawn // LEAST_PICTURES))
    components = asked.components or min(MOST_COMPONENTS, dimensions, drawn)
    groups = asked.groups or min(MOST_GROUPS, clusters)
    if groups > clusters:
        raise TooSmall(
            f"clusters: {groups} groups of the {clusters} clusters that {drawn} images make. Ask "
            "for fewer groups, or for no number."
        )
    return components, clusters, groups


# --- fitting -------------------------------------------------------------------------------------


def _principal_axes(
    vectors: Float16[np.ndarray, "n d"], components: int
) -> tuple[Float32[np.ndarray, " d"], Float32[np.ndarray, "c d"]]:
    """Return the mean and the first principal axes, a step of rows at a time."""
    from sklearn.decomposition import IncrementalPCA
    from sklearn.utils import gen_batches

    n, d = vectors.shape
    pca = IncrementalPCA(n_components=components)
    step = max(ROWS_PER_DIMENSION * d, components)
    with np.errstate(divide="ignore", invalid="ignore"):  # unused shares of a variance of 0
        for rows in gen_batches(n, step, min_batch_size=components):
            pca.partial_fit(vectors[rows].astype(np.float64))
    return pca.mean_.astype(np.float32), pca.components_.astype(np.float32)


def _reduce(
    vectors: Float16[np.ndarray, "n d"],
    mean: Float32[np.ndarray, " d"],
    axes: Float32[np.ndarray, "c d"],
) -> Float32[np.ndarray, "n c"]:
    reduced = np.empty((len(vectors), len(axes)), dtype=np.float32)
    for strip in _strips(len(vectors), STRIP_ROWS):
        reduced[strip] = (vectors[strip].astype(np.float32) - mean) @ axes.T
    return reduced


def _kmeans(
    points: Float32[np.ndarray, "n c"], clusters: int, asked: Clusters
) -> Float32[np.ndarray, "k c"]:
    import faiss

    settings = faiss.ClusteringParameters()
    settings.niter, settings.nredo, settings.seed = asked.iterations, asked.redo, asked.seed
    settings.min_points_per_centroid = 1  # no warning about small samples
    settings.max_points_per_centroid = -(-len(points) // clusters)  # the sample is drawn already
    c = points.shape[1]
    kmeans = faiss.Clustering(c, clusters, settings)
    kmeans.train(points, faiss.IndexFlatL2(c))
    found: np.ndarray = faiss.vector_to_array(kmeans.centroids).reshape(clusters, -1)
    if not np.isfinite(found).all():
        raise StepError(
            f"k-means: some of {clusters} centroids are not finite, although the embeddings are. "
            "Try another number of threads or version of faiss, and report this."
        )
    return found


def _nearest_center(
    centroids: Float32[np.ndarray, "k c"], centers: Float32[np.ndarray, "g c"]
) -> Int32[np.ndarray, " k"]:
    """Return each centroid's nearest center, the lowest of equals."""
    wide = centers.astype(np.float64)
    closeness = centroids.astype(np.float64) @ wide.T - np.square(wide).sum(axis=1) / 2  # (k, g)
    nearest: np.ndarray = closeness.argmax(axis=1).astype(np.int32)
    return nearest


def _clustering(
    mean: Float32[np.ndarray, " d"],
    axes: Float32[np.ndarray, "c d"],
    centroids: Float32[np.ndarray, "k c"],
    group: Int32[np.ndarray, " k"],
) -> pa.Table:
    parts = {"mean": mean[None], "component": axes, "centroid": centroids}
    tables = []
    for kind, rows in parts.items():
        lengths = np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1]
        columns = {
            "kind": pa.repeat(kind, len(rows)),
            "number": np.arange(len(rows), dtype=np.int32),
            "vector": pa.ListArray.from_arrays(
                lengths, rows.ravel(), type=CLUSTERING.field("vector").type
            ),
            "group": group if kind == "centroid" else pa.nulls(len(rows), pa.int32()),
        }
        tables.append(pa.table(columns, schema=CLUSTERING))
    return pa.concat_tables(tables).combine_chunks()


# --- placing -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Nearest:
    """The nearest of k centroids by one product: that with the largest x . direction - offset.

    The squared distance of the projection P (x - m) to c is |P (x - m)|^2, equal for all centroids,
    minus twice (P'c) . x - (|c|^2 / 2 + (P'c) . m).
    """

    directions: Float64[np.ndarray, "d k"]  # on DIRECTION_GRID
    offsets: Float64[np.ndarray, " k"]  # on OFFSET_GRID
    groups: Int32[np.ndarray, " k"]

    @classmethod
    def of(cls, model: pa.Table) -> "_Nearest":
        """Read a CLUSTERING; refuse one whose sums would not be exact."""
        mean, axes, centroids = (
            matrix_of(model, kind).astype(np.float64) for kind in ("mean", "component", "centroid")
        )
        folded = centroids @ axes  # (k, d)
        if not np.linalg.norm(folded, axis=1).max() <= LONGEST:  # also catches NaN
            raise StoreError(
                "clusters: a centroid is further than 8 from the mean or not finite, although "
                "embeddings have norm 4 at most; fit the clusters again"
            )
        offsets = np.square(centroids).sum(axis=1) / 2 + folded @ mean[0]
        groups = model.filter(pc.equal(model["kind"], "centroid"))["group"]
        return cls(
            np.ascontiguousarray((np.rint(folded * DIRECTION_GRID) / DIRECTION_GRID).T),
            np.rint(offsets * OFFSET_GRID) / OFFSET_GRID,
            groups.to_numpy().astype(np.int32),
        )

    def clusters(self, vectors: Float16[np.ndarray, "n d"]) -> Int32[np.ndarray, " n"]:
        """Return each row's nearest centroid, the lowest of equals."""
        closeness = vectors.astype(np.float64) @ self.directions - self.offsets  # (n, k)
        nearest: np.ndarray = closeness.argmax(axis=1).astype(np.int32)
        return nearest


def _strips(rows: int, size: int) -> list[slice]:
    return [slice(start, start + size) for start in range(0, rows, size)]


def matrix_of(model: pa.Table, kind: str) -> Float32[np.ndarray, "n d"]:
    """Return the vectors of a kind of rows of CLUSTERING; raise StoreError if there is none."""
    rows = model.filter(pc.equal(model["kind"], kind))["vector"].combine_chunks()
    if not len(rows):
        raise StoreError(f"clusters: the model has no {kind}; fit the clusters again")
    matrix: np.ndarray = rows.flatten().to_numpy().reshape(len(rows), -1)
    return matrix
