from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines

from clipaudit.memorization.allotment import SETS
from clipaudit.memorization.fixed import RECORD_SETS
from clipaudit.memorization.overlaps import (
    OVERLAPS,
    near_duplicates,
    shared_keys,
)
from clipaudit.neighbors.backends import search

NUMPY = partial(search, k=2, backend="numpy")

KEYS = pa.schema(
    [
        ("shard", pa.int32()),
        ("row", pa.int32()),
        ("set", pa.string()),
        ("uid", pa.string()),
        ("caption", pa.string()),
    ]
)
GRID = np.array([-0.5, 0.0, 0.5])  # many ties, all exact

samples = st.tuples(
    st.sampled_from(["pool", "coco", "imagenet"]),  # corpus
    st.sampled_from(SETS),
    st.sampled_from("xyz"),  # uid
    st.sampled_from(["a cat", "a dog", "", None]),
)
worlds = st.lists(samples, max_size=12)


def keys(rows):
    columns = dict(zip(KEYS.names, zip(*rows, strict=True), strict=True)) if rows else {}
    return pa.table({name: columns.get(name, []) for name in KEYS.names}, schema=KEYS)


def corpora(world):
    """The samples of a world as one table for each corpus; addresses repeat between corpora."""
    tables = {}
    for number, (corpus, *columns) in enumerate(world):
        tables.setdefault(corpus, []).append((number % 2, number // 2, *columns))
    return {corpus: keys(rows) for corpus, rows in tables.items()}


def plain(own, others, own_corpus):
    """Overlaps by their definition."""
    found = []
    for mine in sorted(own.to_pylist(), key=lambda row: (row["shard"], row["row"])):
        for how in ("uid", "caption"):
            shared = [
                (SETS.index(row["set"]), corpus, row["shard"], row["row"])
                for corpus, table in others
                for row in table.to_pylist()
                if mine[how] is not None and row[how] == mine[how] and row["set"] != "public"
            ]
            itself = own_corpus, mine["shard"], mine["row"]
            shared = [one for one in shared if one[1:] != itself]
            if shared:
                number, corpus, shard, row = min(shared)
                place = (mine["shard"], mine["row"], mine["set"], how)
                found.append((*place, corpus, shard, row, SETS[number], None))
    return found


def rows(table):
    return [tuple(row.values()) for row in table.to_pylist()]


@given(worlds)
def test_shared_keys_equal_their_definition(world):
    tables = corpora(world)
    for corpus, own in tables.items():
        found = shared_keys(own, tables.items(), corpus=corpus)

        assert found.schema == OVERLAPS
        assert rows(found) == plain(own, list(tables.items()), corpus)


@settings(max_examples=30)
@given(worlds, st.randoms(use_true_random=False))
def test_order_and_split_of_the_others_do_not_matter(world, random):
    tables = corpora(world)
    pieces = [
        (corpus, table.slice(i, 1))
        for corpus, table in tables.items()
        for i in range(len(table) + 1)
    ]
    random.shuffle(pieces)
    for corpus, own in tables.items():
        turned = own.take(random.sample(range(len(own)), len(own)))

        expected = shared_keys(own, tables.items(), corpus=corpus)
        assert shared_keys(turned, pieces, corpus=corpus) == expected


@settings(max_examples=50)
@given(worlds)
def test_no_overlap_is_left_after_removal(world):
    tables = corpora(world)
    left = {}
    for corpus, own in tables.items():
        gone = shared_keys(own, tables.items(), corpus=corpus)
        pairs = set(zip(gone["shard"].to_pylist(), gone["row"].to_pylist(), strict=True))
        left[corpus] = keys([row for row in rows(own) if row[:2] not in pairs])

    found = [shared_keys(own, left.items(), corpus=corpus) for corpus, own in left.items()]

    assert sum(map(len, found)) == 0


def test_two_records_that_repeat_each_other_are_both_removed_in_any_sets():
    own = keys([(0, 0, "a", "x", "a cat"), (0, 1, "a", "y", "a cat"), (0, 2, "holdout", "x", None)])

    found = shared_keys(own, [("pool", own)], corpus="pool")

    pairs = [(row["row"], row["how"], row["other_row"]) for row in found.to_pylist()]
    assert pairs == [(0, "uid", 2), (0, "caption", 1), (1, "caption", 0), (2, "uid", 0)]


def test_a_public_sample_is_removed_only_as_a_duplicate_of_a_record():
    own = keys(
        [(0, 0, "public", "x", None), (0, 1, "public", "x", None), (0, 2, "b", "y", "a cat")]
    )
    own = pa.concat_tables([own, keys([(0, 3, "public", "z", "a cat")])])

    assert shared_keys(own, [("pool", own)], corpus="pool")["row"].to_pylist() == [3]


def test_no_samples_or_no_others_give_no_shared_keys():
    own = keys([(0, 0, "b", "x", "a cat")])

    assert shared_keys(own, [], corpus="pool") == OVERLAPS.empty_table()
    assert shared_keys(keys([]), [("pool", own)], corpus="pool") == OVERLAPS.empty_table()


def embeddings(vectors, sets=None, shard=0):
    vectors = np.asarray(vectors, dtype=np.float16)
    columns = {
        "shard": pa.array([shard] * len(vectors), pa.int32()),
        "row": pa.array(range(len(vectors)), pa.int32()),
        "embedding": pa.array([row.tobytes() for row in vectors], pa.binary(vectors.shape[1] * 2)),
    }
    if sets is not None:
        columns["set"] = pa.array(sets, pa.string())
    return pa.table(columns, metadata={"encoder": "tiny"})


@pytest.fixture
def pool():
    """Two corpora of random members: their embeddings, with sets."""
    rng = np.random.default_rng(0)
    return {
        corpus: embeddings(rng.choice(GRID, (n, 4)), rng.choice(SETS, n), shard)
        for corpus, n, shard in (("pool", 60, 0), ("coco", 30, 0), ("art", 30, 1))
    }


def entries(tables, blocks=1000):
    for corpus, table in tables.items():
        for name in RECORD_SETS:
            own = table.filter(pa.array(np.array(table["set"]) == name)).drop_columns("set")
            yield corpus, name, own.to_batches(max_chunksize=blocks)


def plain_near(own, tables, distance, own_corpus):
    """Near duplicates by their definition."""
    found = []
    for mine in own.to_pylist():
        near = []
        for corpus, table in tables.items():
            for row in table.to_pylist():
                number = SETS.index(row["set"])
                pair = [np.frombuffer(one["embedding"], "<f2")[None] for one in (mine, row)]
                similarity = float(plain_cosines(*pair)[0, 0])
                itself = (corpus, row["shard"], row["row"]) == (
                    own_corpus, mine["shard"], mine["row"]
                )  # fmt: skip
                if row["set"] != "public" and not itself and 1 - similarity < distance:
                    near.append((-similarity, row["shard"], row["row"], number, corpus))
        if near:
            falling, shard, row, number, corpus = min(near)
            place = (mine["shard"], mine["row"], mine["set"], "near duplicate")
            found.append((*place, corpus, shard, row, SETS[number], -falling))
    return found


@pytest.mark.parametrize("distance", [0.25, 0.3, 0.75])
def test_near_duplicates_equal_their_definition(pool, distance):
    found = near_duplicates(
        pool["pool"], entries(pool), corpus="pool", distance=distance, start=NUMPY
    )

    assert found.schema == OVERLAPS
    assert rows(found) == plain_near(pool["pool"], pool, distance, "pool")
    assert len(found) > 5


@pytest.mark.parametrize("engine", [{"block_rows": 1}, {"backend": "torch", "threads": 1}])
def test_backend_blocks_and_order_do_not_matter(pool, engine):
    blocks = {name: size for name, size in engine.items() if name == "block_rows"}
    started = {"start": partial(search, k=2, **{"backend": "numpy"} | engine), **blocks}
    near = partial(near_duplicates, corpus="coco", distance=0.6)
    expected = near(pool["coco"], entries(pool), start=NUMPY)
    turned = pool["coco"].take(np.random.default_rng(0).permutation(30))
    others = [*entries(pool, blocks=7)][::-1]

    found = near(turned, others, **started)

    assert found == expected
    assert len(found)


def test_a_sample_exactly_at_the_distance_is_not_near():
    own = embeddings([[0.25] * 16, [0.25] * 14 + [-0.25] * 2], ["b", "b"])
    others = [("pool", "a", [embeddings([[0.25] * 16], shard=1)])]

    found = near_duplicates(own, others, corpus="coco", distance=0.25, start=NUMPY)

    assert rows(found) == [(0, 0, "b", "near duplicate", "pool", 1, 0, "a", 1.0)]


def test_a_single_record_is_not_a_near_duplicate_of_itself():
    own = embeddings([[1.0, 0.0], [0.0, 1.0]], ["b", "b"])
    others = [("pool", "b", [own.drop_columns("set")])]

    found = near_duplicates(own, others, corpus="pool", distance=1, start=NUMPY)

    assert found == OVERLAPS.empty_table()
    assert len(near_duplicates(own, others, corpus="coco", distance=1, start=NUMPY)) == 2


@pytest.mark.parametrize("blocks", [[], [embeddings(np.empty((0, 2)))]])
def test_no_samples_or_no_others_give_no_near_duplicates(blocks):
    own = embeddings([[1.0, 0.0]], ["b"])

    for some in (own, own.slice(0, 0)):
        found = near_duplicates(
            some, [("pool", "a", blocks)], corpus="pool", distance=1, start=NUMPY
        )

        assert found == OVERLAPS.empty_table()
