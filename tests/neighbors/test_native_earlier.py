import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plaincosines import plain_cosines

from clipaudit.errors import InputError
from clipaudit.neighbors.native.library import kernels
from clipaudit.neighbors.native.search import nearest_earlier

pytestmark = pytest.mark.skipif(not kernels(), reason="the native search is not compiled here")


def assert_equals_all_pairs(vectors, **options):
    similarity = plain_cosines(vectors, vectors)
    similarity[np.triu_indices(len(vectors))] = -np.inf

    highest, earlier = nearest_earlier(vectors, **options)

    assert highest.tolist() == similarity.max(axis=1).tolist()
    assert earlier.tolist() == [-1, *similarity.argmax(axis=1)[1:].tolist()]


@settings(deadline=None, max_examples=60)
@given(n=st.integers(1, 200), d=st.integers(1, 70), seed=st.integers(0, 999))
def test_ties_go_to_the_first_vector(n, d, seed):
    choices = np.array([-0.25, 0.0, 0.25], dtype=np.float16)

    assert_equals_all_pairs(np.random.default_rng(seed).choice(choices, size=(n, d)))


@pytest.mark.parametrize("kernel", kernels())
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [31, 32, 33, 800, 2500])
def test_every_kernel_ignores_later_vectors(kernel, threads, n):
    vectors = np.random.default_rng(0).standard_normal((n, 64))
    unit = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)

    assert_equals_all_pairs(unit, threads=threads, kernel=kernel)


def test_no_vectors_give_no_results():
    similarity, earlier = nearest_earlier(np.empty((0, 64), dtype=np.float16))

    assert (len(similarity), len(earlier)) == (0, 0)


def test_vectors_that_are_too_long_are_refused():
    vectors = np.ones((3, 32), dtype=np.float16)

    with pytest.raises(InputError, match=r"row 0.* norm 5\.657.* at most 4"):
        nearest_earlier(vectors)
