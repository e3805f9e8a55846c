from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from clipaudit.corpora.vectors import embedding_array
from clipaudit.errors import InputError, StoreError, TooSmall
from clipaudit.parrot.clusters import CLUSTERING, PLACED, fit_clusters, place
from clipaudit.parrot.settings import Clusters


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


def fit(*tables, threads=1, **settings):
    few = {"components": 3, "clusters": 6, "groups": 2, "iterations": 5, "redo": 2, "seed": 3}
    return fit_clusters(tables, Clusters(**few | settings), threads=threads)


def rows_of(model, kind):
    own = model.filter(pa.compute.equal(model["kind"], kind))
    return np.array(own["vector"].to_pylist()), own["group"].to_pylist()


def placed(model, *tables, **settings):
    return pa.concat_tables([PLACED.empty_table(), *place(model, tables, **settings)])


@pytest.fixture
def shards():
    """Five shards of 40 samples around twelve directions."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((12, 8))
    vectors = directions[rng.integers(0, 12, (5, 40))] + 0.2 * rng.standard_normal((5, 40, 8))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return [embeddings(some, shard) for shard, some in enumerate(vectors)]


def test_numbers_that_are_not_given_follow_from_the_data(shards):
    auto = {"components": None, "clusters": None, "groups": None}

    many, one = fit(*shards, **auto), fit(shards[0].slice(0, 1), **auto)

    assert many["kind"].to_pylist() == ["mean"] + ["component"] * 8 + ["centroid"] * 5  # 200 / 39
    assert one["kind"].to_pylist() == ["mean", "component", "centroid"]


def test_more_groups_than_clusters_are_refused(shards):
    with pytest.raises(TooSmall, match="6 groups of the 5 clusters that 200 images make"):
        fit(*shards, clusters=None, groups=6)


def test_a_clustering_lists_mean_components_and_centroids_with_groups(shards):
    model = fit(*shards)

    assert model.schema == CLUSTERING
    assert model["kind"].to_pylist() == ["mean"] + ["component"] * 3 + ["centroid"] * 6
    assert model["number"].to_pylist() == [0, 0, 1, 2, 0, 1, 2, 3, 4, 5]
    assert [len(vector) for vector in model["vector"].to_pylist()] == [8] * 4 + [3] * 6
    assert model["group"].to_pylist()[:4] == [None] * 4
    assert set(model["group"].to_pylist()[4:]) == {0, 1}


def test_the_components_equal_those_of_the_singular_value_decomposition(shards):
    vectors = embedding_array(pa.concat_tables(shards), "here").astype(float)

    model = fit(*shards, components=8)

    _, _, axes = np.linalg.svd(vectors - vectors.mean(axis=0))
    (mean, _), (found, _) = rows_of(model, "mean"), rows_of(model, "component")
    np.testing.assert_allclose(mean[0], vectors.mean(axis=0), atol=1e-6)  # float32
    # exact with all components kept, except for rounding and the sign
    np.testing.assert_allclose(np.abs((found * axes).sum(axis=1)), 1, atol=1e-5)


def test_a_clustering_does_not_depend_on_the_parts(shards):
    whole = fit(pa.concat_tables(shards), samples_per_cluster=10)

    parts = fit(*shards[2:], shards[0].slice(0, 0), *shards[:2], samples_per_cluster=10)

    assert parts.equals(whole)


def test_centroids_are_close_to_images():
    corners = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    table = embeddings(np.repeat(corners, [5, 9, 2], axis=0))

    model = fit(table, components=2, clusters=3)

    cluster = placed(model, table)["cluster"].to_numpy()
    centroids, _ = rows_of(model, "centroid")
    mean, axes = rows_of(model, "mean")[0], rows_of(model, "component")[0]
    assert len(set(cluster)) == 3
    assert np.array_equal(cluster, np.repeat(cluster[[0, 5, 14]], [5, 9, 2]))
    np.testing.assert_allclose(centroids[cluster[[0, 5, 14]]], (corners - mean) @ axes.T, atol=1e-6)


def test_near_centroids_share_a_group():
    angles = np.radians([0, 2, 4, 90, 92, 94])
    table = embeddings(np.stack([np.cos(angles), np.sin(angles)], axis=1))

    model = fit(table, components=2)

    group = placed(model, table)["group"]
    first, *_, last = group.to_pylist()
    assert group.to_pylist() == [first] * 3 + [last] * 3
    assert {first, last} == {0, 1}


def test_an_image_is_assigned_to_the_centroid_nearest_to_its_projection(shards):
    model, vectors = fit(*shards), embedding_array(shards[1], "here").astype(float)

    found = placed(model, *shards[1].to_batches(max_chunksize=7))

    mean, axes = rows_of(model, "mean")[0], rows_of(model, "component")[0]
    centroids, group = rows_of(model, "centroid")
    distances = np.linalg.norm(((vectors - mean) @ axes.T)[:, None] - centroids, axis=2)
    assert found.select(["shard", "row"]).equals(shards[1].select(["shard", "row"]).cast(
        pa.schema(list(PLACED)[:2])
    ))  # fmt: skip
    np.testing.assert_array_equal(found["cluster"].to_numpy(), distances.argmin(axis=1))
    assert found["group"].to_pylist() == [group[number] for number in found["cluster"].to_pylist()]


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), max_size=8), st.integers(1, 50), st.integers(0, 2**32 - 1))
def test_batches_and_strips_do_not_change_an_assignment(cuts, strip_rows, seed):
    rng = np.random.default_rng(seed)
    close = np.array([[0.5, 0.5, 0.5]]) + rng.integers(-2, 3, (40, 3)) * 2.0**-11  # many ties
    table = embeddings(close)
    model = fit(table, components=3, clusters=12, iterations=1, redo=1)
    edges = [0, *np.minimum(np.cumsum(cuts), 40).astype(int).tolist(), 40]
    batches = [table.slice(edge, end - edge) for edge, end in pairwise(edges)]

    parts = placed(model, *batches, strip_rows=strip_rows)

    assert parts.equals(placed(model, table).combine_chunks())


def test_equally_near_centroids_give_the_lowest():
    rows = [
        ("mean", 0, [0.0, 0.0], None), ("component", 0, [1.0, 0.0], None),
        ("component", 1, [0.0, 1.0], None), ("centroid", 0, [-1.0, 0.0], 1),
        ("centroid", 1, [1.0, 0.0], 0), ("centroid", 2, [1.0, 0.0], 1),
    ]  # fmt: skip
    model = pa.Table.from_pylist(
        [dict(zip(CLUSTERING.names, row, strict=True)) for row in rows], CLUSTERING
    )

    found = placed(model, embeddings([[0, 1], [0.25, 0.5], [-0.25, 0.5]]))

    assert found["cluster"].to_pylist() == [0, 1, 0]
    assert found["group"].to_pylist() == [1, 0, 1]


def test_no_embeddings_give_no_rows(shards):
    model = fit(*shards)

    assert placed(model, shards[0].slice(0, 0)).equals(PLACED.empty_table())
    assert list(place(model, [])) == []


def test_copies_of_one_image_also_give_clusters():
    table = embeddings(np.tile([0.6, 0.8], (50, 1)))

    model = fit(table, components=2, clusters=5)

    assert len(placed(model, table).group_by("cluster").aggregate([])) == 1


def test_clusters_equal_the_images_if_there_are_as_many():
    table = embeddings(np.eye(4))

    model = fit(table, components=4, clusters=4, groups=4)

    assert sorted(placed(model, table)["cluster"].to_pylist()) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"groups": 7}, r"groups: 7 of 6 clusters; ask for fewer"),
        ({"components": 9, "samples_per_cluster": 1}, r"components: 9 learned from a sample of 6"),
    ],
)
def test_incompatible_settings_are_refused(asked, message):
    with pytest.raises(ValidationError, match=message):
        Clusters(**{"components": 3, "clusters": 6, "groups": 2} | asked)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"clusters": 5}, r"3 components and 5 clusters of 4 embeddings.*embed more shards"),
        ({"clusters": 2, "components": 5}, r"5 components and 2 clusters of 4 embeddings"),
    ],
)
def test_more_clusters_than_embeddings_are_refused(asked, message):
    with pytest.raises(TooSmall, match=message):
        fit(embeddings(np.eye(4)), **asked)


def test_more_components_than_dimensions_are_refused(shards):
    with pytest.raises(InputError, match=r"9 components of embeddings of dimension 8.*another enc"):
        fit(*shards, components=9)


def test_a_non_finite_embedding_is_named(shards):
    broken = embeddings([[np.nan] + [0] * 7], shard=7)
    model = fit(*shards)

    with pytest.raises(InputError, match=r"drawn sample \(shard 7, row 0\).*norm nan"):
        fit(*shards, broken)
    with pytest.raises(InputError, match=r"embedded sample \(shard 7, row 0\).*norm nan"):
        placed(model, broken)


def test_embeddings_of_another_encoder_are_refused(shards):
    with pytest.raises(InputError, match=r"dimension 4 against clusters of dimension 8; place"):
        placed(fit(*shards), embeddings(np.eye(4)))


def test_a_model_without_centroids_is_refused(shards):
    model = fit(*shards).slice(0, 4)

    with pytest.raises(StoreError, match="the model has no centroid; fit the clusters again"):
        placed(model, shards[0])


def test_the_number_of_threads_is_restored(shards):
    faiss = pytest.importorskip("faiss")
    before = faiss.omp_get_max_threads()

    fit(*shards, threads=before + 1)

    assert faiss.omp_get_max_threads() == before
