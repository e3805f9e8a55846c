from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.places import places
from clipaudit.corpora.vectors import embedding_array
from clipaudit.deduplication import clustering
from clipaudit.deduplication.clustering import Drawn, centroids_schema, train_centroids
from clipaudit.errors import ConfigError, InputError, TooSmall


def embeddings(vectors, shard=0):
    vectors = np.asarray(vectors, dtype=np.float16)
    n, d = vectors.shape
    return pa.table(
        {
            "shard": np.broadcast_to(np.int32(shard), n),
            "row": np.arange(n, dtype=np.int32),
            "embedding": pa.array([vector.tobytes() for vector in vectors], pa.binary(2 * d)),
        }
    )


def train(*tables, clusters, sample=1000, **options):
    with TemporaryDirectory() as scratch:
        settings = {"clusters": clusters, "iterations": 5, "seed": 3, "sample": sample}
        return train_centroids(tables, **settings, scratch=Path(scratch), threads=1, **options)


@pytest.fixture
def shards():
    """Five shards of 40 samples around twelve directions."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((12, 8))
    vectors = directions[rng.integers(0, 12, (5, 40))] + 0.2 * rng.standard_normal((5, 40, 8))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return [embeddings(some, shard) for shard, some in enumerate(vectors)]


@pytest.mark.parametrize("spare", [0, 1000])
def test_the_sample_is_the_head_of_the_random_order_for_any_parts(shards, monkeypatch, spare):
    monkeypatch.setattr(clustering, "SPARE_ROWS", spare)
    whole = pa.concat_tables(shards)
    order = places(whole["shard"].to_numpy(), whole["row"].to_numpy(), seed=7)
    head = np.sort(np.argsort(order)[:30])
    drawn = Drawn(30, seed=7)

    for batch in pa.concat_tables(shards[::-1]).to_batches(max_chunksize=11):
        drawn.add(batch)

    addresses, vectors = drawn.rows()
    np.testing.assert_array_equal(addresses, sample_addresses(whole)[head])
    np.testing.assert_array_equal(vectors, embedding_array(whole, "here")[head])


def test_centroids_do_not_depend_on_the_parts(shards):
    whole = train(pa.concat_tables(shards), clusters=6, sample=60)

    parts = train(*shards[2:], shards[0].slice(0, 0), *shards[:2], clusters=6, sample=60)

    assert parts == whole
    assert whole.schema.equals(centroids_schema(8), check_metadata=True)


def test_centroids_are_numbered_unit_rows_near_their_samples(shards):
    found = train(*shards, clusters=12)

    vectors = embedding_array(found, "here").astype(float)
    samples = embedding_array(pa.concat_tables(shards), "here").astype(float)
    assert found["cluster"].to_pylist() == list(range(12))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=2e-3)  # float16 rounding
    assert (samples @ vectors.T).max(axis=1).mean() > 0.8


def test_clusters_equal_the_samples_if_there_are_as_many():
    found = train(embeddings(np.eye(4)), clusters=4)

    assert sorted(embedding_array(found, "here").tolist()) == sorted(np.eye(4).tolist())


def test_copies_of_one_sample_also_give_centroids():
    found = train(embeddings(np.tile([0.6, 0.8], (50, 1))), clusters=5)

    assert np.isfinite(embedding_array(found, "here")).all()


def test_a_centroid_whose_samples_cancel_out_stays_zero():
    found = train(embeddings([[1, 0], [-1, 0]]), clusters=1)

    assert embedding_array(found, "here").tolist() == [[0, 0]]


def test_more_clusters_than_embeddings_are_refused():
    with pytest.raises(TooSmall, match=r"5 clusters of 4 embeddings.* embed more shards"):
        train(embeddings(np.eye(4)), clusters=5)


@pytest.mark.parametrize(("given", "made"), [(1, 1), (5, 5), (200, 5)])
def test_the_default_number_of_clusters_gives_39_samples_each(shards, given, made):
    assert len(train(*shards, clusters=given, follow=True)) == made


def test_few_samples_form_one_cluster():
    assert len(train(embeddings(np.eye(4)), clusters=50, follow=True)) == 1


@pytest.mark.parametrize("clusters", [0, 11])
def test_a_sample_smaller_than_the_clusters_is_refused(clusters):
    with pytest.raises(ConfigError, match=rf"{clusters} clusters from a sample of 10.*256 times"):
        train(embeddings(np.eye(4)), clusters=clusters, sample=10)


def test_a_non_finite_embedding_is_named():
    with pytest.raises(InputError, match=r"shard 2, row 1.*norm inf"):
        train(embeddings([[1, 0], [np.inf, 0]], shard=2), clusters=1)


def test_a_sample_too_large_for_exact_sums_is_refused():
    with pytest.raises(ConfigError, match=r"268,435,456; its sums are exact up to 134,217,728"):
        train(embeddings(np.eye(4)), clusters=4, sample=2**28)
