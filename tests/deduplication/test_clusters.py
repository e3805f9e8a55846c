import numpy as np
import pyarrow as pa
import pytest
from clustercases import clustered, grid_vectors, reader

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.vectors import embedding_array
from clipaudit.deduplication.clusters import read_clusters
from clipaudit.errors import InputError


@pytest.fixture
def parts():
    """Three parts of shards 0, 1 and 2, in clusters 0 to 7, of which 2 and 6 are empty."""
    rng = np.random.default_rng(0)
    return [
        clustered(grid_vectors(rng, 40), cluster=rng.choice([0, 1, 3, 4, 5, 7], 40), shard=shard)
        for shard in range(3)
    ]


@pytest.mark.parametrize("batch_rows", [1, 7, 100])
@pytest.mark.parametrize("held_rows", [1, 15, 1000])
def test_clusters_come_one_at_a_time_with_all_their_rows(parts, batch_rows, held_rows):
    whole = pa.concat_tables(parts)

    found = list(
        read_clusters(reader(*parts, batch_rows=batch_rows), range(1, 7), held_rows=held_rows)
    )

    assert [cluster.number for cluster in found] == [1, 3, 4, 5]
    for cluster in found:
        rows = whole.filter(pa.compute.equal(whole["cluster"], cluster.number))
        np.testing.assert_array_equal(cluster.addresses, sample_addresses(rows))
        np.testing.assert_array_equal(cluster.centroid_similarity, rows["centroid_similarity"])
        for _ in range(2):
            vectors = np.concatenate(list(cluster.blocks()))
            np.testing.assert_array_equal(vectors, embedding_array(rows, "here"))


def test_a_range_without_samples_has_no_clusters(parts):
    assert list(read_clusters(reader(*parts), range(6, 7), held_rows=10)) == []
    assert list(read_clusters(reader(), range(3), held_rows=10)) == []


def test_parts_are_not_read_ahead():
    """One batch of each part is held, so thousands of parts fit."""
    opened = []

    def part(number):
        for cluster in range(3):
            opened.append((number, cluster))
            yield clustered([[0, 1]], cluster=cluster, shard=number)

    clusters = read_clusters(lambda clusters: [part(0), part(1)], range(3), held_rows=10)
    next(clusters)

    assert max(cluster for _, cluster in opened) == 1  # the head of each stream


def test_rows_not_sorted_by_cluster_are_refused():
    part = pa.concat_tables([clustered([[0, 1]], cluster=cluster) for cluster in (4, 3)])

    with pytest.raises(InputError, match=r"cluster 3 come after those of a later one.*assign"):
        list(read_clusters(reader(part), range(9), held_rows=10))


@pytest.mark.parametrize("order", [[0, 0], [1, 0]])
def test_parts_out_of_order_are_refused(order):
    parts = [clustered([[0, 1], [1, 0]], cluster=2, shard=shard) for shard in (3, 4)]

    with pytest.raises(InputError, match=r"cluster 2: sample .*\([34], 1\) and then \(3, 0\)"):
        list(read_clusters(reader(*(parts[part] for part in order)), range(9), held_rows=10))
