"""The fused search by Triton's interpreter, or on a GPU.

Triton takes its interpreter if TRITON_INTERPRET is set when it is first imported. No other test
should see that, so `test_fused_interpreted.py` starts a Python in which these tests run on a CPU.
"""

import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines
from searchcases import assert_same_bytes, brute_force, build, run, searches

pytest.importorskip("triton", reason="there is no Triton for this platform")

from clipaudit.errors import InputError, StepError
from clipaudit.neighbors.backends import search
from clipaudit.neighbors.deciding import Deciding
from clipaudit.neighbors.fused import device, launch
from clipaudit.neighbors.fused.launch import Tiling, find
from clipaudit.neighbors.fused.search import Fused
from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.screened import Screened

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"
SMALL = Tiling(64, 64, 64)
SIZES = st.sampled_from([64, 200, 1000])
EXAMPLES = settings(deadline=None, max_examples=4 if INTERPRETED else 40)  # some take seconds there
ROWS = 1000 if INTERPRETED else 3000  # a tile takes .2 s there
pytestmark = [] if INTERPRETED else pytest.mark.gpu


def fused(queries, k, rows=1000, columns=1000, tiling=None):
    return Fused(
        queries,
        k,
        device=DEVICE,
        block_rows=rows,
        block_queries=columns,
        threads=None,
        tiling=tiling or Tiling(),
    )


def assert_equals_reference(found, queries, k, addresses, train):
    reference = search(queries, k=k, backend="numpy")

    assert_same_bytes(found, run(reference, addresses, train))


def unit_rows(rng, n, d=64):
    vectors = np.abs(rng.standard_normal((n, d))) + 0.5
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@EXAMPLES
@given(case=searches(), tiling=st.sampled_from([SMALL, Tiling(), Tiling(64, 128, 128)]))
def test_the_search_equals_a_loop_over_all_pairs(case, tiling):
    queries, k, addresses, train = build(case)

    found = run(fused(queries, k, columns=50, tiling=tiling), addresses, train)

    assert_same_bytes(found, brute_force(queries, k, addresses, train))


@EXAMPLES
@given(case=searches(), rows=SIZES, columns=SIZES, cuts=st.lists(st.integers(0, 300), max_size=2))
def test_block_sizes_do_not_matter(case, rows, columns, cuts):
    queries, k, addresses, train = build(case)
    cuts = [min(cut, len(train)) for cut in cuts]

    found = run(fused(queries, k, rows, columns, SMALL), addresses, train, cuts)

    assert_equals_reference(found, queries, k, addresses, train)


def test_blocks_of_one_row_and_one_query_give_the_same_result():
    rng = np.random.default_rng(0)
    queries = Queries(unit_rows(rng, 9, 7), (0, 4, 9), np.arange(9), np.full(9, 0.9))
    addresses, train = np.arange(12), unit_rows(rng, 12, 7)

    found = run(fused(queries, 2, rows=1, columns=1), addresses, train)

    assert_same_bytes(found, brute_force(queries, 2, addresses, train))


def made(rows, queries):
    """Rows and queries of two sets, the last tile of each direction not filled; and gaps."""
    rng = np.random.default_rng(0)
    vectors, train = unit_rows(rng, queries, 70), unit_rows(rng, rows, 70)
    train[17] = train[911] = vectors[3]
    gaps = plain_cosines(vectors, train[: rows // 3]).max(axis=1)
    starts = (0, int(0.44 * queries), queries)
    return Queries(vectors, starts, np.arange(queries), gaps), np.arange(rows), train


@pytest.fixture
def large():
    return made(ROWS, 300)


@pytest.mark.parametrize("k", [1, 40])
def test_large_blocks_are_exact_without_the_plain_product(k, large, monkeypatch):
    monkeypatch.delattr(Deciding, "_search_exactly")
    queries, addresses, train = large

    found = run(fused(queries, k, rows=ROWS, columns=4000), addresses, train)

    assert_equals_reference(found, queries, k, addresses, train)


@pytest.mark.parametrize("programs", [1, 2, 50])
def test_the_order_of_the_tiles_does_not_matter(programs, large, monkeypatch):
    monkeypatch.setattr(launch, "_INTERPRETED_PROGRAMS", programs)
    queries, addresses, train = large

    found = run(fused(queries, 2, tiling=SMALL), addresses[:500], train[:500])

    assert_equals_reference(found, queries, 2, addresses[:500], train[:500])


@pytest.mark.parametrize("sign", [-1, 1])
def test_negative_similarities_and_gaps_are_exact(sign, large):
    queries, addresses, train = large
    away = Queries(queries.vectors, queries.starts, queries.addresses, sign * queries.gaps)

    found = run(fused(away, 5), addresses[:700], -train[:700])

    assert_equals_reference(found, away, 5, addresses[:700], -train[:700])


def test_gaps_crossed_by_every_row_are_exact(large):
    queries, addresses, train = large
    low = Queries(queries.vectors, queries.starts, queries.addresses, queries.gaps - 0.5)

    found = run(fused(low, 1), addresses[:700], train[:700])

    assert_equals_reference(found, low, 1, addresses[:700], train[:700])


def test_gaps_that_are_barely_crossed_are_exact(large):
    """The excess is less than float32 sums resolve, and no other decision needs these rows."""
    queries, addresses, train = large[0], large[1][:500], large[2][:500]
    similarity = plain_cosines(train, queries.vectors)
    second = np.sort(similarity, axis=0)[-2] - 2.0**-30
    barely = Queries(queries.vectors, queries.starts, queries.addresses, second)

    found = run(fused(barely, 1), addresses, train)

    assert_equals_reference(found, barely, 1, addresses, train)


@pytest.mark.parametrize("k", [1, 5, 30])
def test_near_ties_are_decided_exactly(k):
    """Similarities within a cluster differ by less than float32 sums resolve."""
    rng = np.random.default_rng(0)
    members = rng.standard_normal((60, 64))[np.arange(1300) % 60]
    members = members + 3e-4 * rng.standard_normal((1300, 64))
    members = (members / np.linalg.norm(members, axis=1, keepdims=True)).astype(np.float16)
    queries, train = Queries(members[:100], (0, 100), np.arange(100)), members[100:]

    found = run(fused(queries, k), np.arange(1200), train)

    assert_equals_reference(found, queries, k, np.arange(1200), train)


def test_copies_of_one_vector_overflow_and_are_computed_exactly(large):
    queries, addresses, train = large
    copies, addresses = np.broadcast_to(train[:1], (1500, 70)), np.arange(1499, -1, -1)
    copied = Queries(copies[:300], queries.starts, queries.addresses, queries.gaps - 0.5)
    search = fused(copied, 3, rows=1500, columns=20)

    found = run(search, addresses, copies)

    assert_equals_reference(found, copied, 3, addresses, copies)
    assert search._at_once == 750


def test_an_overflow_reduces_the_block_size_and_it_then_grows_again(monkeypatch):
    queries, addresses, train = made(3000, 60)
    tried = []
    screen = Fused._screen

    def noted(self, rows, *rest):
        tried.append(len(rows))
        return screen(self, rows, *rest)

    monkeypatch.setattr(Fused, "_screen", noted)

    found = run(fused(queries, 1, rows=3000, columns=8), addresses, train)

    assert_equals_reference(found, queries, 1, addresses, train)
    assert tried[:4] == [3000, 1500, 750, 1500]


def test_refused_blocks_do_not_affect_the_result(large):
    queries, addresses, train = large
    search = fused(queries, 1)

    with pytest.raises(InputError, match=rf"shard 0, row {ROWS - 1}.*norm inf"):
        search.rows(addresses, np.concatenate([train[:-1], train[-1:] * np.float16(np.inf)]))

    assert (search.top().address == -1).all()


# --- the kernel -----------------------------------------------------------------------------------


@pytest.fixture
def operands():
    """Two rows more than a tile, and queries whose scores are exact in float32."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-8, 9, (66, 64)).astype(np.float16) / 64
    queries = rng.integers(-8, 9, (40, 64)).astype(np.float16) / 64
    return torch.from_numpy(rows).to(DEVICE), torch.from_numpy(queries).to(DEVICE)


def found_by(operands, floor, *, gaps=None, margin=0.0, places=66 * 40):
    buffer = torch.empty((3, places), dtype=torch.int32, device=DEVICE)
    floors = torch.full((40,), floor, device=DEVICE)
    return find(*operands, floors, gaps, margin, buffer, SMALL)


def test_the_kernel_keeps_each_pair_once_with_its_score(operands):
    found = found_by(operands, -torch.inf)

    scores = (operands[0].double() @ operands[1].double().T).cpu()
    assert len(set(zip(found.rows.tolist(), found.columns.tolist(), strict=True))) == 66 * 40
    assert torch.equal(found.values.cpu(), scores[found.rows.cpu(), found.columns.cpu()])


@pytest.mark.parametrize("gap", [None, 0.05])
def test_the_kernel_keeps_pairs_that_reach_a_floor_or_are_best(operands, gap):
    gaps = None if gap is None else torch.linspace(-gap, gap, 40, device=DEVICE)

    found = found_by(operands, 0.2, gaps=gaps, margin=0.01)

    scores = (operands[0].double() @ operands[1].double().T).cpu()
    needed = (scores >= 0.2) | (scores >= scores.amax(1, keepdim=True) - 0.009)
    if gaps is not None:
        excess = scores - gaps.double().cpu()
        needed |= (excess >= excess.amax(1, keepdim=True) - 0.009) & (excess > 0)
    kept = torch.zeros_like(needed).index_put(
        (found.rows.cpu(), found.columns.cpu()), torch.tensor(True)
    )
    assert (kept >= needed).all()
    assert kept.sum() < 3 * needed.sum()


def test_the_kernel_reports_too_little_output_space(operands):
    assert found_by(operands, -torch.inf, places=66 * 40 - 1) is None


def test_the_kernel_writes_nothing_beyond_its_output_space(operands):
    buffer = torch.full((3, 100), -7, dtype=torch.int32, device=DEVICE)
    floors = torch.full((40,), -torch.inf, device=DEVICE)

    assert find(*operands, floors, None, 0.0, buffer[:, :0].contiguous(), SMALL) is None
    assert (buffer == -7).all()


# --- where it cannot be trusted -------------------------------------------------------------------


@pytest.fixture
def sloppy(monkeypatch):
    """Let products be as wrong as those of a device with a shorter significand."""
    from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

    dot = InterpreterBuilder.create_dot

    def scaled(self, *operands):
        product = dot(self, *operands)
        return TensorHandle(product.data * np.float32(1 + 2e-3), product.dtype)

    monkeypatch.setattr(InterpreterBuilder, "create_dot", scaled)
    device.runs_on.cache_clear()
    yield
    device.runs_on.cache_clear()


@pytest.mark.skipif(not INTERPRETED, reason="a GPU cannot be made sloppy")
@pytest.mark.usefixtures("sloppy")
def test_arithmetic_less_precise_than_the_bound_is_detected(large):
    queries, addresses, train = large

    with pytest.raises(StepError, match=r"wrong by .* but the bound is .* numpy backend"):
        fused(queries, 1).rows(addresses, train)


@pytest.mark.skipif(not INTERPRETED, reason="a GPU cannot be made sloppy")
@pytest.mark.usefixtures("sloppy")
def test_torch_is_used_if_the_first_small_search_fails(large, caplog):
    assert isinstance(search(large[0], k=1, backend="triton", device=DEVICE), Screened)
    assert "does not run on cpu (screening: a low-precision similarity was wrong" in caplog.text


def test_the_registry_uses_the_fused_search_if_it_runs(large):
    assert isinstance(search(large[0], k=1, backend="triton", device=DEVICE), Fused)
