import numpy as np
import pyarrow as pa
import pytest
from clustercases import clustered, grid_vectors
from plaincosines import plain_cosines

from clipaudit.corpora.vectors import embedding_array
from clipaudit.deduplication import assignment
from clipaudit.deduplication.assignment import assign_clusters, centroid_queries, clustered_schema
from clipaudit.errors import InputError

EMBEDDINGS = ["shard", "row", "embedding"]


def centroids(vectors):
    return centroid_queries(clustered(vectors, cluster=np.arange(len(vectors))))


def assign(vectors, part, **settings):
    tables = assign_clusters(centroids(vectors), part.select(EMBEDDINGS).to_batches(13), **settings)
    return pa.concat_tables([clustered_schema(4).empty_table(), *tables])


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    return grid_vectors(rng, 9), clustered(grid_vectors(rng, 100), shard=np.repeat([1, 2], 50))


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_every_row_joins_its_most_similar_centroid_and_ties_go_to_the_lowest(case, backend):
    vectors, part = case
    similarity = plain_cosines(embedding_array(part, "here"), vectors)

    found = assign(vectors, part, backend=backend, block_rows=7)

    found = found.sort_by([("shard", "ascending"), ("row", "ascending")])
    assert found.select(EMBEDDINGS) == part.select(EMBEDDINGS).replace_schema_metadata(None)
    np.testing.assert_array_equal(found["cluster"], similarity.argmax(axis=1))
    np.testing.assert_array_equal(found["centroid_similarity"], similarity.max(axis=1))


@pytest.mark.parametrize("rows", [1, 10, 1000])
def test_rows_are_sorted_by_cluster_for_any_split_into_tables(case, monkeypatch, rows):
    expected = assign(*case, backend="numpy")
    monkeypatch.setattr(assignment, "TABLE_ROWS", rows)

    found = assign(*case, backend="numpy")

    keys = ["cluster", "shard", "row"]
    order = [(name, "ascending") for name in keys]
    assert found == expected == expected.sort_by(order)
    assert found.schema.equals(clustered_schema(4), check_metadata=True)


def test_a_part_without_rows_gives_no_rows(case):
    vectors, part = case

    assert assign(vectors, part.slice(0, 0)).num_rows == 0


def test_a_zero_centroid_gets_only_rows_opposed_to_all_others():
    part = clustered([[0.5, 0, 0, 0], [-0.5, 0, 0, 0]])

    found = assign([[1, 0, 0, 0], [0, 0, 0, 0]], part, backend="numpy")

    assert found.select(["cluster", "row"]).to_pylist() == [
        {"cluster": 0, "row": 0},
        {"cluster": 1, "row": 1},
    ]


def test_centroids_of_another_encoder_are_refused(case):
    with pytest.raises(InputError, match="dimension 4 against queries of dimension 2"):
        assign([[1, 0]], case[1], backend="numpy")
