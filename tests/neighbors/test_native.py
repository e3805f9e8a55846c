import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines
from searchcases import assert_same_bytes, brute_force, build, run, searches

from clipaudit.errors import ConfigError, InputError
from clipaudit.neighbors.backends import search
from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.native.library import kernels
from clipaudit.neighbors.native.search import Native

pytestmark = pytest.mark.skipif(not kernels(), reason="the native search is not compiled here")
KERNELS = pytest.mark.parametrize("kernel", kernels())


def assert_equals_reference(native, queries, k, addresses, train):
    reference = search(queries, k=k, backend="numpy")

    found = run(native, addresses, train)

    assert_same_bytes(found, run(reference, addresses, train))


def unit_rows(rng, n, d=64):
    vectors = np.abs(rng.standard_normal((n, d))) + 0.5
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


@KERNELS
@settings(deadline=None, max_examples=40)
@given(case=searches())
def test_every_kernel_equals_a_loop_over_all_pairs(kernel, case):
    queries, k, addresses, train = build(case)

    found = run(Native(queries, k, threads=1, kernel=kernel), addresses, train)

    assert_same_bytes(found, brute_force(queries, k, addresses, train))


@settings(deadline=None, max_examples=20)
@given(case=searches(), threads=st.integers(1, 3), cuts=st.lists(st.integers(0, 300), max_size=2))
def test_threads_and_blocks_do_not_matter(case, threads, cuts):
    queries, k, addresses, train = build(case)
    cuts = [min(cut, len(train)) for cut in cuts]

    found = run(Native(queries, k, threads=threads), addresses, train, cuts)

    assert_same_bytes(found, run(search(queries, k=k, backend="numpy"), addresses, train))


@pytest.fixture
def large():
    """Rows enough for many panels, two sets of queries that end within a block, and gaps."""
    rng = np.random.default_rng(0)
    queries, train = unit_rows(rng, 700), unit_rows(rng, 5000)
    train[17] = train[4711] = queries[3]
    gaps = plain_cosines(queries, train[:2000]).max(axis=1)
    return Queries(queries, (0, 301, 700), np.arange(700), gaps), np.arange(5000), train


@KERNELS
@pytest.mark.parametrize("k", [1, 10, 100])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_over_many_panels_are_exact(kernel, k, threads, large):
    queries, addresses, train = large

    native = Native(queries, k, threads=threads, kernel=kernel)

    assert_equals_reference(native, queries, k, addresses, train)


@pytest.mark.parametrize("threads", [1, 2])
def test_floors_set_too_high_by_a_sample_are_lowered_again(threads):
    """The sample is every other row, and has nearly all rows that are close to a query."""
    rng = np.random.default_rng(0)
    queries, train = unit_rows(rng, 70), unit_rows(rng, 13_000)
    train[::2][:270] = np.repeat(queries[:3], 90, axis=0)
    asked = Queries(queries, (0, 70), np.arange(70))

    native = Native(asked, 100, threads=threads)

    assert_equals_reference(native, asked, 100, np.arange(13_000), train)


@KERNELS
@pytest.mark.parametrize("sign", [-1, 1])
def test_negative_similarities_and_gaps_are_exact(kernel, sign, large):
    queries, addresses, train = large
    away = Queries(queries.vectors, queries.starts, queries.addresses, sign * queries.gaps)

    native = Native(away, 10, threads=1, kernel=kernel)

    assert_equals_reference(native, away, 10, addresses, -train)


def test_gaps_crossed_by_every_row_are_exact(large):
    queries, addresses, train = large
    low = Queries(queries.vectors, queries.starts, queries.addresses, queries.gaps - 0.5)

    assert_equals_reference(Native(low, 1), low, 1, addresses, train)


@KERNELS
@pytest.mark.parametrize("k", [1, 5, 30])
def test_near_ties_are_decided_exactly(kernel, k):
    """Similarities within a cluster differ by less than any low precision resolves."""
    rng = np.random.default_rng(0)
    members = rng.standard_normal((60, 64))[np.arange(3000) % 60]
    members = members + 3e-4 * rng.standard_normal((3000, 64))
    members = (members / np.linalg.norm(members, axis=1, keepdims=True)).astype(np.float16)
    queries = Queries(members[:100], (0, 100), np.arange(100))

    native = Native(queries, k, threads=1, kernel=kernel)

    assert_equals_reference(native, queries, k, np.arange(2900), members[100:])


def test_copies_of_one_vector_do_not_overflow_a_list(large):
    """Rows and queries have more equal candidates than a list holds."""
    vectors = np.repeat(large[2][:1], 2000, axis=0)
    queries = Queries(vectors[:700], (0, 700), np.arange(700), np.full(700, 0.5))

    found = run(Native(queries, 3, threads=1), np.arange(2000)[::-1].copy(), vectors)

    assert (found[1] == 0).all()
    assert (found[3] == 0).all()
    assert found[5].tolist() == [[0, 1, 2]] * 700


def test_rows_of_later_blocks_displace_earlier_ones(large):
    queries, addresses, train = large

    found = run(Native(queries, 10), addresses, train, cuts=[5, 1000, 4000])

    assert_same_bytes(found, run(search(queries, k=10, backend="numpy"), addresses, train))


def test_refused_blocks_do_not_affect_the_result(large):
    queries, addresses, train = large
    native = Native(queries, 1)

    with pytest.raises(InputError, match=r"shard 0, row 4999.*norm inf"):
        native.rows(addresses, np.concatenate([train[:-1], train[-1:] * np.float16(np.inf)]))

    assert (native.top().address == -1).all()


def test_rows_that_are_not_contiguous_are_read_correctly(large):
    queries, addresses, train = large
    turned, every_other = np.asfortranarray(train), slice(None, None, 2)

    found = run(Native(queries, 1), addresses[every_other], turned[every_other])

    expected = run(search(queries, k=1, backend="numpy"), addresses[::2], train[::2])
    assert_same_bytes(found, expected)


def test_other_kernels_are_refused(large):
    with pytest.raises(ConfigError, match=r"kernel 'sse' .* is not one of .*avx2"):
        Native(large[0], 1, kernel="sse")
