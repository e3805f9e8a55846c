import numpy as np
import pyarrow as pa
import pytest
from plaincosines import plain_cosines

from clipaudit.corpora.vectors import embedding_array
from clipaudit.deduplication.assignment import clustered_schema
from clipaudit.parrot.cluster_candidates import cluster_candidates, cluster_centroids
from clipaudit.parrot.clusters import PLACED, fit_clusters, place
from clipaudit.parrot.settings import Clusters

FEW = Clusters(components=8, clusters=6, groups=2, iterations=5, redo=2)


def rows(vectors, shard):
    return pa.table(
        {
            "shard": np.full(len(vectors), shard, np.int32),
            "row": np.arange(len(vectors), dtype=np.int32),
            "embedding": pa.array([each.tobytes() for each in vectors], pa.binary(16)),
        }
    )


@pytest.fixture(scope="module")
def shards():
    """Three shards of 40 samples around six directions."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((6, 8))[rng.integers(0, 6, 120)]
    vectors += 0.3 * rng.standard_normal((120, 8))
    units = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    return [rows(some, shard) for shard, some in enumerate(np.split(units, 3))]


@pytest.fixture(scope="module")
def model(shards):
    return fit_clusters(shards, FEW, threads=1)


def clustered(model, tables, candidates):
    placed = pa.concat_tables([PLACED.empty_table(), *place(model, tables)])
    found = cluster_candidates(cluster_centroids(model), placed, tables, candidates)
    return pa.concat_tables([clustered_schema(8).empty_table(), *found])


def test_each_candidate_is_in_the_cluster_where_it_was_placed(shards, model):
    placed = {
        (row["shard"], row["row"]): row["cluster"]
        for table in place(model, shards)
        for row in table.to_pylist()
    }
    asked = pa.concat_tables(shards).take(list(range(0, 120, 7)))

    found = clustered(model, shards, asked)

    own = {(row["shard"], row["row"]): row["cluster"] for row in found.to_pylist()}
    assert own == {(r["shard"], r["row"]): placed[r["shard"], r["row"]] for r in asked.to_pylist()}
    order = [(name, "ascending") for name in ("cluster", "shard", "row")]
    assert found.equals(found.sort_by(order))


def test_with_all_components_a_centroid_is_the_mean_of_its_images(shards, model):
    every = pa.concat_tables(shards)
    cluster = pa.concat_tables(place(model, [every]))["cluster"].to_numpy()
    vectors = embedding_array(every, "here").astype(float)

    centroids = embedding_array(cluster_centroids(model), "here")

    means = np.stack([vectors[cluster == number].mean(axis=0) for number in range(6)])
    assert (np.diag(plain_cosines(means, centroids)) > 0.99).all()  # five iterations: about there
    np.testing.assert_allclose(np.linalg.norm(centroids.astype(float), axis=1), 1, atol=1e-3)


def test_the_similarity_is_that_to_the_centroid(shards, model):
    found = clustered(model, shards, shards[1])

    centroids = embedding_array(cluster_centroids(model), "here")
    own = centroids[found["cluster"].to_numpy()]
    expected = np.diag(plain_cosines(embedding_array(found, "here"), own))
    np.testing.assert_array_equal(found["centroid_similarity"], expected)


def test_batches_and_their_order_do_not_matter(shards, model):
    asked = pa.concat_tables(shards[:2])
    whole = clustered(model, [pa.concat_tables(shards)], asked)

    assert clustered(model, [shards[2], shards[1].slice(0, 0), *shards[:2]], asked).equals(whole)


def test_no_images_and_no_candidates_give_no_rows(shards, model):
    none = shards[0].slice(0, 0)

    assert clustered(model, [], shards[0]).num_rows == 0
    assert clustered(model, [none], shards[0]).num_rows == 0
    assert clustered(model, shards, none).num_rows == 0
