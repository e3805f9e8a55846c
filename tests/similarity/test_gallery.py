import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines

from clipaudit.corpora.places import places
from clipaudit.errors import InputError
from clipaudit.reports.gallery_options import NeighborOptions
from clipaudit.similarity.gallery import (
    GALLERY,
    Query,
    SearchedSet,
    gallery,
    gallery_addresses,
    neighbor_addresses,
    pick_ladder,
    pick_neighbors,
    pick_queries,
    pick_vectors,
)
from clipaudit.similarity.nearest import NEIGHBORS

COARSE = st.integers(0, 4).map(lambda step: step / 4)  # many ties


def neighbors(rows):
    """NEIGHBORS from (testset, test_shard, test_row, rank, similarity, shard, row)."""
    columns = zip(*rows, strict=True) if rows else [[]] * len(NEIGHBORS)
    arrays = [
        pa.array(list(values), field.type) for values, field in zip(columns, NEIGHBORS, strict=True)
    ]
    return pa.table(arrays, schema=NEIGHBORS)


def nearest(similarities, testset="val"):
    """NEIGHBORS of one rank: similarities by row of shard 0."""
    return neighbors([(testset, 0, row, 0, value, 0, row) for row, value in similarities.items()])


def rows_of(queries):
    return [query.address for query in queries]


# --- test samples --------------------------------------------------------------------------------


@given(st.dictionaries(st.integers(0, 30), COARSE), st.dictionaries(st.integers(0, 30), COARSE))
@settings(max_examples=60, deadline=None)
def test_queries_are_the_first_strictly_nearer_samples_in_random_order(first, other):
    found = pick_queries(
        nearest(first), "val", count=5, seed=3, nearer_than=nearest(other) if other else None
    )

    def place(row):
        return places(np.zeros(1, np.int32), np.array([row], np.int32), seed=3)[0]

    good = [row for row in first if not other or (row in other and first[row] > other[row])]
    assert rows_of(found) == sorted(good, key=place)[:5]


def test_added_samples_do_not_change_the_order_of_earlier_ones():
    few, many = dict.fromkeys(range(40), 0.5), dict.fromkeys(range(60), 0.5)

    before = rows_of(pick_queries(nearest(few), "val", count=40, seed=0))
    after = rows_of(pick_queries(nearest(many), "val", count=60, seed=0))

    assert [row for row in after if row < 40] == before
    assert before != rows_of(pick_queries(nearest(few), "val", count=40, seed=1))


def test_queries_come_only_from_their_test_set_and_rank_0():
    table = neighbors(
        [("val", 2, 9, 0, 0.3, 0, 0), ("val", 2, 9, 1, 0.2, 0, 1), ("r", 0, 1, 0, 0.9, 0, 0)]
    )

    assert pick_queries(table, "val", count=4, seed=0) == [Query("val", 2 << 32 | 9)]
    assert pick_queries(table, "sketch", count=4, seed=0) == []
    assert pick_ladder(table, "sketch", count=4) == []


@given(st.dictionaries(st.integers(0, 50), COARSE, min_size=1), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_the_ladder_rises_from_lowest_to_highest_without_repeats(similarities, count):
    found = rows_of(pick_ladder(nearest(similarities), "val", count=count))

    values = [similarities[row] for row in found]
    assert len(set(found)) == len(found) == min(count, len(similarities))
    assert list(zip(values, found, strict=True)) == sorted(zip(values, found, strict=True))
    assert values[0] == min(similarities.values())
    assert count == 1 or values[-1] == max(similarities.values())


def test_steps_of_the_ladder_are_even_and_ties_go_to_the_lowest_address():
    similarities = {9: 0.0, 4: 0.0, 1: 0.24, 2: 0.52, 8: 0.52, 5: 0.7, 3: 1.0}

    assert rows_of(pick_ladder(nearest(similarities), "val", count=5)) == [4, 1, 2, 5, 3]


# --- neighbours ----------------------------------------------------------------------------------


def unit_vectors(count, seed):
    grid = np.random.default_rng(seed).integers(-1, 2, (count, 3)) + np.array([0, 0, 0.5])
    return (grid / np.linalg.norm(grid, axis=1, keepdims=True)).astype(np.float16)


@given(st.integers(0, 12), st.integers(1, 6), st.sampled_from([0.0, 0.01, 0.3, 2.5]), st.integers())
@settings(max_examples=60, deadline=None)
def test_shown_neighbours_are_the_first_without_near_duplicates(count, columns, distance, seed):
    vectors = unit_vectors(count, abs(seed))
    table = neighbors([("val", 0, 0, rank, 1 - rank / 20, 0, rank) for rank in range(count)])

    found = pick_neighbors(
        table, dict(enumerate(vectors)), columns=columns, near_duplicate_distance=distance
    )

    exact = plain_cosines(vectors, vectors)
    kept = []
    for rank in range(count):
        if all(1 - exact[rank, other] >= distance for other in kept):
            kept.append(rank)
    assert [one["rank"] for one in found] == kept[:columns]
    omitted = np.diff([-1, *kept[:columns]]) - 1
    assert [one["omitted_before"] for one in found] == omitted.tolist()


def test_an_image_is_compared_with_shown_images_and_not_with_omitted_ones():
    angles = np.array([0, 0.2, 0.4])  # each 0.02 from the one before, the last 0.08 from the first
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float16)
    table = neighbors([("val", 0, 0, rank, 1 - rank / 20, 0, rank) for rank in range(3)])

    found = pick_neighbors(table, dict(enumerate(vectors)), columns=3, near_duplicate_distance=0.05)

    assert [(one["rank"], one["omitted_before"]) for one in found] == [(0, 0), (2, 1)]


def embeddings(vectors, shard=0):
    data = [vector.tobytes() for vector in vectors]
    return pa.table(
        {
            "shard": pa.array([shard] * len(data), pa.int32()),
            "row": pa.array(range(len(data)), pa.int32()),
            "embedding": pa.array(data, pa.binary(6)),
        }
    )


def test_only_vectors_of_requested_rows_are_kept():
    first, second = unit_vectors(4, 0), unit_vectors(4, 1)
    wanted = [1 << 32 | 3, 2, 2]

    batches = embeddings(first).to_batches() + embeddings(second, 1).to_batches(max_chunksize=3)
    found = pick_vectors(batches, wanted)

    assert sorted(found) == [2, 1 << 32 | 3]
    np.testing.assert_array_equal(found[2], first[2])
    np.testing.assert_array_equal(found[1 << 32 | 3], second[3])


def test_a_neighbour_without_embedding_is_named():
    with pytest.raises(InputError, match=r"2 of 3 neighbours .* \(0, 7\).* search again"):
        pick_vectors([embeddings(unit_vectors(4, 0))], [0, 7, 8])


# --- the gallery ---------------------------------------------------------------------------------


def options(columns):
    return NeighborOptions("rows", (), (), 2, columns, near_duplicate_distance=0.1)


@pytest.fixture
def two_sets():
    """Two queries; `web` has two neighbours of each, `small` one of the first alone."""
    web = [
        ("val", 0, query, rank, 0.9 - rank / 10, 3, 2 * query + rank)
        for query in (0, 1)
        for rank in (0, 1)
    ]
    return [
        SearchedSet("the web", "large", neighbors(web)),
        SearchedSet("Small", "small", neighbors([("val", 0, 0, 0, 0.5, 0, 0)])),
    ]


def test_a_gallery_is_sorted_by_query_set_and_place(two_sets):
    queries = [Query("val", 1), Query("val", 0)]
    addresses = neighbor_addresses(two_sets, queries)
    axes = np.eye(4, dtype=np.float16)
    vectors = {
        corpus: dict(zip(sorted(found), axes, strict=False)) for corpus, found in addresses.items()
    }

    table = gallery(queries, two_sets, vectors, options(columns=6), 0.1)

    assert table.schema == GALLERY
    shown = [(row["block"], row["test_row"], row["set"], row["row"]) for row in table.to_pylist()]
    web = "the web"
    assert shown == [
        (0, 1, web, 2),
        (0, 1, web, 3),
        (1, 0, web, 0),
        (1, 0, web, 1),
        (1, 0, "Small", 0),
    ]
    large = {3 << 32 | row for row in range(4)}
    assert addresses == {"large": large, "small": {0}}
    assert gallery_addresses(table) == {"val": {0, 1}, "large": large, "small": {0}}


def test_a_gallery_without_queries_is_empty(two_sets):
    table = gallery([], two_sets, {"large": {}, "small": {}}, options(columns=2), 0.1)

    assert table.schema == GALLERY
    assert table.num_rows == 0
    assert gallery_addresses(table) == {}
