import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import InputError
from clipaudit.neighbors.backends import BLOCK_ROWS
from clipaudit.neighbors.backends import search as engine
from clipaudit.similarity.nearest import (
    NEIGHBORS,
    SIMILARITIES,
    PartSearch,
    embedding_array,
    merge_neighbors,
    query_sets,
)


def embeddings(vectors, shard=0, rows=None):
    vectors = np.asarray(vectors, dtype=np.float16)
    rows = range(len(vectors)) if rows is None else rows
    size = vectors.shape[1] * 2
    return pa.table(
        {
            "shard": pa.array(np.broadcast_to(shard, len(vectors)), pa.int32()),
            "row": pa.array(rows, pa.int32()),
            "embedding": pa.array([row.tobytes() for row in vectors], pa.binary(size)),
        },
        metadata={"encoder": "tiny"},
    )


def search(sets, *blocks, k=2, **settings):
    blocks_of = {"block_rows": settings.get("block_rows", BLOCK_ROWS)}
    part = PartSearch(sets, engine(sets.queries, k=k, **settings), **blocks_of)
    similarities = pa.concat_tables([SIMILARITIES.empty_table(), *part.similarities(blocks)])
    return similarities, part.neighbors()


@pytest.fixture
def two_sets():
    """`val` has the two axes; `sketch` has the first axis twice."""
    return {
        "val": embeddings([[1, 0], [0, 1]], shard=3),
        "sketch": embeddings([[1, 0], [1, 0]], rows=[5, 9]),
    }


@pytest.fixture
def random_world():
    rng = np.random.default_rng(0)
    grid = np.array([-0.5, 0.0, 0.5])  # many ties
    sets = {
        "val": embeddings(rng.choice(grid, (20, 4))),
        "none": embeddings(np.empty((0, 4))),
        "r": embeddings(rng.choice(grid, (9, 4)), shard=np.repeat([0, 2, 5], 3)),
    }
    small = embeddings(rng.choice(grid, (6, 4)))
    large = embeddings(rng.choice(grid, (90, 4)), shard=np.repeat([1, 2, 7], 30))
    return sets, small, large


def test_each_training_sample_has_one_row_per_test_set(two_sets):
    train = embeddings([[0.5, 0.375], [0, 1]], shard=7, rows=[2, 4])  # 4 : 3

    found, _ = search(query_sets(two_sets), train)

    assert found.schema == SIMILARITIES
    assert [tuple(row.values())[:6] for row in found.to_pylist()] == [
        (7, 2, "val", 0.8, 3, 0),
        (7, 2, "sketch", 0.8, 0, 5),  # the lower of two equals
        (7, 4, "val", 1.0, 3, 1),
        (7, 4, "sketch", 0.0, 0, 5),
    ]
    assert (
        found.select(SIMILARITIES.names[6:]).to_pylist()
        == [dict.fromkeys(SIMILARITIES.names[6:])] * 4
    )


def test_neighbors_are_ranked_by_similarity_then_address(two_sets):
    train = embeddings([[0, 0.5], [0.5, 0], [0.5, 0]], rows=[1, 2, 8])

    _, found = search(query_sets(two_sets), train)

    assert found.schema == NEIGHBORS
    assert [tuple(row.values()) for row in found.to_pylist()][:4] == [
        ("val", 3, 0, 0, 1.0, 0, 2),
        ("val", 3, 0, 1, 1.0, 0, 8),
        ("val", 3, 1, 0, 1.0, 0, 1),
        ("val", 3, 1, 1, 0.0, 0, 2),
    ]


def test_gaps_are_taken_from_rank_0_against_the_small_set(two_sets):
    _, small = search(query_sets(two_sets), embeddings([[0.375, 0.5], [-0.25, 0]]))

    queries = query_sets(two_sets, small).queries

    assert queries.gaps.tolist() == [0.6, 0.8, 0.6, 0.6]


def test_a_test_sample_without_neighbours_has_no_gap(two_sets):
    sets = query_sets(two_sets, NEIGHBORS.empty_table())

    found, _ = search(sets, embeddings([[0.375, 0.5]]))

    assert sets.queries.gaps.tolist() == [-np.inf] * 4
    assert found["gap"].to_pylist() == [-np.inf, -np.inf]  # everything crosses: the lowest sample
    assert found["gap_similarity"].to_pylist() == [0.6, 0.6]


def test_crossing_a_gap_is_strict_and_the_largest_excess_counts(two_sets):
    _, small = search(query_sets(two_sets), embeddings([[0.5, -0.375]]))
    train = embeddings([[0.5, -0.375], [0.75, 0.3125]])  # 12 : 5

    found, _ = search(query_sets(two_sets, small), train)

    columns = ["testset", "gap_similarity", "gap", "gap_test_shard", "gap_test_row"]
    assert [tuple(row.values()) for row in found.select(columns).to_pylist()] == [
        ("val", None, None, None, None),  # a tie stays
        ("sketch", None, None, None, None),
        ("val", 5 / 13, -0.6, 3, 1),
        ("sketch", 12 / 13, 0.8, 0, 5),
    ]


def test_a_margin_finds_pairs_below_the_gap_and_still_names_the_gap(two_sets):
    _, small = search(query_sets(two_sets), embeddings([[0.375, 0.5]]))  # gaps 0.6, 0.8; 0.6, 0.6
    train = embeddings([[0.3125, 0.75], [0.5, -0.375]])

    found, _ = search(query_sets(two_sets, small, margin=-0.25), train)

    columns = ["testset", "gap_similarity", "gap", "gap_test_row"]
    assert [tuple(row.values()) for row in found.select(columns).to_pylist()] == [
        ("val", 12 / 13, 0.8, 1),
        ("sketch", 5 / 13, 0.6, 5),
        ("val", 0.8, 0.6, 0),
        ("sketch", 0.8, 0.6, 5),
    ]


def test_a_margin_that_leads_beyond_all_similarities_is_refused(two_sets):
    _, small = search(query_sets(two_sets), embeddings([[-0.5, 0.375]]))

    with pytest.raises(InputError, match=r"lowest gap is -0\.8: .* margins of -0\.2 or up"):
        query_sets(two_sets, small, margin=-0.25)


@pytest.mark.parametrize("margin", [-(2.0**-40), -0.25])
@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_margin_changes_no_row_that_crosses_the_gap_itself(margin, backend):
    rng = np.random.default_rng(3)
    sets = {
        "val": embeddings(0.25 + 0.5 * rng.random((50, 8))),
        "r": embeddings(0.25 + 0.5 * rng.random((30, 8))),
    }
    small = search(query_sets(sets), embeddings(0.25 + 0.5 * rng.random((20, 8))))[1]
    copies = sets["val"].slice(0, 5)["embedding"].to_pylist()
    large = embeddings(
        [*(0.25 + 0.5 * rng.random((95, 8))), *(np.frombuffer(each, np.float16) for each in copies)]
    )

    plain, _ = search(query_sets(sets, small), large, backend=backend)
    found, _ = search(query_sets(sets, small, margin=margin), large, backend=backend)

    crosses = pc.fill_null(pc.greater(found["gap_similarity"], found["gap"]), False)
    assert found.filter(crosses) == plain.filter(pc.is_valid(plain["gap"]))
    assert found.select(SIMILARITIES.names[:6]) == plain.select(SIMILARITIES.names[:6])
    assert pc.sum(crosses).as_py() > 20


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("block_rows", [1, 7, 1000])
def test_backend_and_blocks_do_not_matter(random_world, backend, block_rows):
    sets, small, large = random_world
    queries = query_sets(sets, search(query_sets(sets), small)[1])
    expected = search(queries, large, backend="numpy")
    blocks = [*large.to_batches(max_chunksize=13), large.slice(0, 0)]

    found = search(queries, *blocks, backend=backend, block_rows=block_rows)

    assert found[0].combine_chunks() == expected[0].combine_chunks()
    assert found[1] == expected[1]


def test_an_empty_test_set_has_no_rows(random_world):
    sets, _, large = random_world

    similarities, neighbors = search(query_sets(sets), large)

    assert set(similarities["testset"].to_pylist()) == {"val", "r"}
    assert set(neighbors["testset"].to_pylist()) == {"val", "r"}


def test_no_training_samples_give_empty_tables(two_sets):
    similarities, neighbors = search(query_sets(two_sets), embeddings(np.empty((0, 2))))

    assert (similarities.num_rows, neighbors.num_rows) == (0, 0)


def test_merged_parts_equal_the_whole(random_world):
    sets, _, large = random_world
    queries = query_sets(sets)
    parts = [
        search(queries, large.slice(*edges), k=7)[1]
        for edges in [(0, 3), (3, 60), (63, 0), (63, 27)]
    ]
    names = list(sets)

    merged = merge_neighbors([merge_neighbors(parts[2:], 7, names), parts[1], parts[0]], 7, names)

    assert merged == search(queries, large, k=7)[1]


@given(data=st.data())
def test_merging_keeps_the_first_of_all_rows(data):
    queries = [("a", 0, 0), ("a", 0, 7), ("b", 1, 0)]
    tables, rows = [], []
    for shard in range(data.draw(st.integers(1, 6))):
        own = []
        for query in queries:
            similar = data.draw(st.lists(st.sampled_from([0.25, 0.5, 0.75]), max_size=3))
            own += [
                (*query, rank, each, shard, data.draw(st.integers(0, 3)) + 4 * rank)
                for rank, each in enumerate(sorted(similar, reverse=True))
            ]
        tables.append(neighbors_of(own))
        rows += own

    merged = merge_neighbors(tables, 2, ["a", "b"])

    expected = []
    for query in queries:
        best = sorted((-row[4], *row[5:]) for row in rows if row[:3] == query)[:2]
        expected += [(*query, rank, -one[0], *one[1:]) for rank, one in enumerate(best)]
    assert merged == neighbors_of(expected)


def neighbors_of(rows):
    """NEIGHBORS of rows, as tuples."""
    table = [dict(zip(NEIGHBORS.names, row, strict=True)) for row in rows]
    plain = pa.Table.from_pylist(table, NEIGHBORS.set(0, pa.field("testset", pa.string())))
    codes = pc.index_in(plain["testset"], pa.array(["a", "b"])).combine_chunks()
    names = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]))
    return plain.set_column(0, NEIGHBORS.field(0), names)


def test_merging_reads_tables_back_from_parquet(random_world, tmp_path):
    """Parquet keeps the names in a dictionary of its own, without those that do not occur."""
    sets, _, large = random_world
    _, neighbors = search(query_sets(sets), large)
    only_r = neighbors.slice(neighbors["testset"].to_pylist().index("r"))
    pq.write_table(only_r, tmp_path / "r.parquet")

    merged = merge_neighbors([pq.read_table(tmp_path / "r.parquet")], 2, list(sets))

    assert merged == only_r


def test_neighbors_of_an_unknown_test_set_are_refused(two_sets):
    _, neighbors = search(query_sets(two_sets), embeddings([[1, 0]]))

    with pytest.raises(InputError, match="test set sketch: only val are"):
        merge_neighbors([neighbors], 1, ["val"])


def test_gaps_of_other_embeddings_are_refused(two_sets):
    _, small = search(query_sets(two_sets), embeddings([[1, 0]]))
    fewer = {"val": two_sets["val"].slice(1), "sketch": two_sets["sketch"]}

    with pytest.raises(InputError, match=r"test set val: they name sample \(3, 0\).*2 gaps for 1"):
        query_sets(fewer, small)


def test_repeated_gaps_are_refused(two_sets):
    _, small = search(query_sets(two_sets), embeddings([[1, 0]]))

    with pytest.raises(InputError, match="test set val: they name a sample twice"):
        query_sets(two_sets, pa.concat_tables([small, small]))


def test_test_sets_of_two_encoders_are_refused(two_sets):
    with pytest.raises(InputError, match=r"\{'val': 2, 'r': 3\}.*one encoder"):
        query_sets({"val": two_sets["val"], "r": embeddings([[1, 0, 0]])})


def test_an_empty_list_of_test_sets_is_refused():
    with pytest.raises(InputError, match="no test set"):
        query_sets({})


@pytest.mark.parametrize(
    ("rows", "pair"),
    [([1, 1], r"\(0, 1\) and then \(0, 1\)"), ([4, 2], r"\(0, 4\) and then \(0, 2\)")],
)
@pytest.mark.parametrize("block_rows", [1, 10])
def test_unsorted_training_samples_are_refused(two_sets, rows, pair, block_rows):
    with pytest.raises(InputError, match=pair):
        search(query_sets(two_sets), embeddings(np.eye(2), rows=rows), block_rows=block_rows)


def test_embeddings_are_read_without_copying():
    table = embeddings(np.eye(4)).slice(1, 2)

    view = embedding_array(table, "here")

    np.testing.assert_array_equal(view, np.eye(4)[1:3])
    address = table["embedding"].chunk(0).buffers()[1].address + 4 * 2
    assert view.__array_interface__["data"][0] == address


def test_embeddings_in_chunks_are_joined():
    table = pa.concat_tables([embeddings(np.eye(4)).slice(i, 1) for i in (2, 0)])

    np.testing.assert_array_equal(embedding_array(table, "here"), np.eye(4)[[2, 0]])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([[1.0]], pa.list_(pa.float32())), "here: column embedding is list"),
        (pa.array([b"abc"], pa.binary(3)), r"fixed_size_binary\[3\], not .* 2 bytes for each"),
        (pa.array([None], pa.binary(4)), "1 embeddings are null"),
    ],
)
def test_columns_of_another_type_are_refused(column, message):
    with pytest.raises(InputError, match=message):
        embedding_array(pa.table({"embedding": column}), "here")
