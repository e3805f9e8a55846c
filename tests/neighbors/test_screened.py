import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines
from searchcases import assert_same_bytes, brute_force, build, run, searches

from clipaudit.errors import StepError
from clipaudit.neighbors import screening
from clipaudit.neighbors.backends import search
from clipaudit.neighbors.deciding import Deciding
from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.screened import Screened
from clipaudit.neighbors.tiles import Crowded, Tile

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
PRECISIONS = list(screening.PRECISIONS)
SIZES = st.sampled_from([21, 64, 200, 1000])


def screened(queries, k, device="cpu", rows=1000, columns=1000, precision=None, threads=1):
    return Screened(
        queries,
        k,
        device=device,
        block_rows=rows,
        block_queries=columns,
        precision=precision,
        threads=threads,
    )


def unit_rows(rng, n, d=64):
    vectors = np.abs(rng.standard_normal((n, d))) + 0.5
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", PRECISIONS)
@settings(deadline=None, max_examples=40)
@given(case=searches())
def test_the_search_equals_a_loop_over_all_pairs(device, precision, case):
    queries, k, addresses, train = build(case)
    search = screened(queries, k, device, precision=precision)

    found = run(search, addresses, train)

    assert_same_bytes(found, brute_force(queries, k, addresses, train))


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=20)
@given(case=searches(), rows=SIZES, columns=SIZES, cuts=st.lists(st.integers(0, 300), max_size=2))
def test_block_sizes_do_not_matter(device, case, rows, columns, cuts):
    queries, k, addresses, train = build(case)
    cuts = [min(cut, len(train)) for cut in cuts]

    found = run(screened(queries, k, device, rows, columns), addresses, train, cuts)

    reference = search(queries, k=k, backend="numpy", block_rows=rows, block_queries=columns)
    assert_same_bytes(found, run(reference, addresses, train))


def test_blocks_of_one_row_and_one_query_give_the_same_result():
    rng = np.random.default_rng(0)
    queries = Queries(unit_rows(rng, 9, 7), (0, 4, 9), np.arange(9), np.full(9, 0.9))
    addresses, train = np.arange(12), unit_rows(rng, 12, 7)

    found = run(screened(queries, 2, rows=1, columns=1), addresses, train)

    assert_same_bytes(found, brute_force(queries, 2, addresses, train))


@settings(deadline=None, max_examples=10)
@given(case=searches())
def test_two_threads_give_the_same_bytes_as_one(case):
    queries, k, addresses, train = build(case)

    one, two = (run(screened(queries, k, threads=t), addresses, train) for t in (1, 2))

    assert_same_bytes(two, one)


@pytest.fixture
def large():
    """Rows and queries enough for tiles in which few pairs pass the screen."""
    rng = np.random.default_rng(0)
    queries, train = unit_rows(rng, 700), unit_rows(rng, 5000)
    train[17] = train[4711] = queries[3]
    gaps = plain_cosines(queries, train[:2000]).max(axis=1)
    return Queries(queries, (0, 300, 700), np.arange(700), gaps), np.arange(5000), train


@pytest.fixture
def clustered():
    """Rows in clusters whose similarities differ by less than any low precision resolves."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((60, 64))
    members = centres[np.arange(3000) % 60] + 3e-4 * rng.standard_normal((3000, 64))
    members = (members / np.linalg.norm(members, axis=1, keepdims=True)).astype(np.float16)
    return Queries(members[:100], (0, 100), np.arange(100)), np.arange(2900), members[100:]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("k", [1, 5, 30])
@pytest.mark.parametrize("block_rows", [1000, 2900])
def test_near_ties_are_decided_exactly(device, precision, k, block_rows, clustered):
    queries, addresses, train = clustered

    found = run(screened(queries, k, device, block_rows, 64, precision), addresses, train)

    assert_same_bytes(found, run(search(queries, k=k, backend="numpy"), addresses, train))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_negative_similarities_are_also_ordered(device, precision, sign, large):
    queries, addresses, train = large
    away = Queries(queries.vectors, queries.starts, queries.addresses, sign * queries.gaps)

    found = run(screened(away, 10, device, precision=precision), addresses, -train)

    assert_same_bytes(found, run(search(away, k=10, backend="numpy"), addresses, -train))


@pytest.mark.parametrize("odd", ["row", "query", "gap"])
def test_a_single_negative_threshold_is_also_ordered(odd, large):
    queries, addresses, train = large
    signs = {
        name: np.ones(length) for name, length in [("row", 5000), ("query", 700), ("gap", 700)]
    }
    signs[odd][7] = -1
    vectors = (queries.vectors * signs["query"][:, None]).astype(np.float16)
    away = Queries(vectors, queries.starts, queries.addresses, queries.gaps * signs["gap"])
    train = (train * signs["row"][:, None]).astype(np.float16)

    found = run(screened(away, 10), addresses, train)

    assert_same_bytes(found, run(search(away, k=10, backend="numpy"), addresses, train))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("k", [1, 10, 100])
def test_large_tiles_are_exact_without_the_plain_product(device, precision, k, large, monkeypatch):
    if precision != "bfloat16":  # its bound lets many of these vectors pass
        monkeypatch.delattr(Deciding, "_search_exactly")
    queries, addresses, train = large

    found = run(screened(queries, k, device, 5000, 512, precision), addresses, train)

    assert_same_bytes(found, run(search(queries, k=k, backend="numpy"), addresses, train))


def test_copies_of_one_vector_fall_back_to_the_plain_product(large):
    queries, addresses, train = large
    train = np.broadcast_to(train[:1], train.shape)

    top = run(screened(queries, 3), addresses, train)[5]

    assert top.tolist() == [[0, 1, 2]] * 700


def test_gaps_crossed_by_every_row_are_exact(large):
    queries, addresses, train = large
    low = Queries(queries.vectors, queries.starts, queries.addresses, queries.gaps - 0.5)

    found = run(screened(low, 1), addresses, train)

    assert_same_bytes(found, run(search(low, k=1, backend="numpy"), addresses, train))


def test_refused_blocks_do_not_affect_the_result(large):
    queries, addresses, train = large
    search = screened(queries, 1)

    with pytest.raises(Exception, match=r"shard 0, row 4999.*norm inf"):
        search.rows(addresses, np.concatenate([train[:-1], train[-1:] * np.float16(np.inf)]))

    assert (search.top().address == -1).all()


def test_arithmetic_less_precise_than_the_bound_is_detected(large, monkeypatch):
    """A device or a torch setting may make products less precise."""
    queries, addresses, train = large
    fill = Tile.fill

    def sloppy(tile, rows, panel):
        fill(tile, (rows.float() * (1 + 2e-3)).to(rows.dtype), panel)

    monkeypatch.setattr(Tile, "fill", sloppy)

    with pytest.raises(StepError, match=r"wrong by .* but the bound is .* numpy backend"):
        screened(queries, 1, precision="float16").rows(addresses, train)


def test_torch_settings_are_restored(large):
    queries, addresses, train = large
    before = torch.get_num_threads(), torch.backends.cuda.matmul.allow_fp16_accumulation

    screened(queries, 1, threads=2).rows(addresses, train)

    after = torch.get_num_threads(), torch.backends.cuda.matmul.allow_fp16_accumulation
    assert after == before


def test_crowded_is_an_internal_exception():
    """It never leaves the engine, so it is not a ClipauditError."""
    assert Crowded.__bases__ == (Exception,)
