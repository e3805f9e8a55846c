import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines

from clipaudit.errors import InputError
from clipaudit.memorization.retrieval import caption_queries, order_by_uid, retrieve
from clipaudit.neighbors.backends import search

GRID = np.array([-0.5, 0.0, 0.5], np.float16)  # many ties, all exact


def embeddings(vectors, addresses):
    return pa.table(
        {
            "shard": pa.array([address >> 32 for address in addresses], pa.int32()),
            "row": pa.array([address & 0xFFFFFFFF for address in addresses], pa.int32()),
            "embedding": pa.array([row.tobytes() for row in vectors], pa.binary(8)),
        }
    )


def public_set(seed, n):
    """Vectors, uids and rising addresses of public images."""
    rng = np.random.default_rng(seed)
    addresses = [(row % 3) << 32 | row for row in range(n)]
    uids = [f"{number:032x}" for number in rng.permutation(n)]
    return rng.choice(GRID, (n, 4)), uids, sorted(addresses)


def order(uids, addresses):
    shards, rows = [a >> 32 for a in addresses], [a & 0xFFFFFFFF for a in addresses]
    columns = {"shard": pa.array(shards, pa.int32()), "row": pa.array(rows, pa.int32())}
    return order_by_uid(pa.table({**columns, "uid": pa.array(uids, pa.string())}))


def uids_found(captions, vectors, uids, addresses, *, k, blocks=1, backend="numpy"):
    """The uids retrieved for each caption, best first."""
    table = embeddings(vectors, addresses)
    cut = [table.slice(at, -(-len(table) // blocks)) for at in range(0, len(table), 5)]
    queries = caption_queries(embeddings(captions, range(len(captions))))
    found = retrieve(
        search(queries, k=k, backend=backend),
        queries,
        [table] if blocks == 1 else [piece.slice(0, 5) for piece in cut],
        order(uids, addresses),
    )
    named = dict(zip(addresses, uids, strict=True))
    rows = found.select(["row", "public_shard", "public_row"]).to_pylist()
    by_caption = [[] for _ in captions]
    for each in rows:
        by_caption[each["row"]].append(named[each["public_shard"] << 32 | each["public_row"]])
    return by_caption


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 12))
@settings(max_examples=30)
def test_nearest_images_are_sorted_by_similarity_and_then_uid(seed, n, k):
    vectors, uids, addresses = public_set(seed, n)
    captions = np.random.default_rng(seed + 1).choice(GRID, (5, 4))

    found = uids_found(captions, vectors, uids, addresses, k=k)

    exact = plain_cosines(captions, vectors)
    expected = [[uid for _, uid in sorted(zip(-row, uids, strict=True))[:k]] for row in exact]
    assert found == expected


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_the_addresses_of_images_do_not_change_the_result(backend):
    vectors, uids, addresses = public_set(3, 40)
    captions = np.random.default_rng(4).choice(GRID, (6, 4))
    mixed = np.random.default_rng(5).permutation(40)

    before = uids_found(captions, vectors, uids, addresses, k=7, backend=backend)
    moved = [uids[at] for at in mixed]
    after = uids_found(captions, vectors[mixed], moved, addresses, k=7, blocks=8, backend=backend)

    assert after == before


def test_equal_uids_are_sorted_by_address():
    places = order(["b" * 32, "a" * 32, "a" * 32], [0, 1, 2])

    assert places["place"].to_pylist() == [2, 0, 1]


def test_no_captions_give_no_rows():
    vectors, uids, addresses = public_set(0, 4)

    assert uids_found(vectors[:0], vectors, uids, addresses, k=2) == []


@pytest.mark.parametrize(("listed", "strange"), [(3, "2, row 2"), (0, "0, row 0")])
def test_an_image_outside_the_public_set_is_refused(listed, strange):
    vectors, uids, addresses = public_set(0, 4)
    known = order(uids[:listed], addresses[:listed])
    queries = caption_queries(embeddings(vectors, range(4)))

    engine = search(queries, k=1, backend="numpy")
    with pytest.raises(InputError, match=rf"\(shard {strange}\) is not among the {listed}.*embed"):
        retrieve(engine, queries, [embeddings(vectors, addresses)], known)
