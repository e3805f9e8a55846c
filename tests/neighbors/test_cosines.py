"""Similarity is the cosine, from exact sums, for vectors of any length."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from clipaudit.neighbors.cosines import cosines, squared_norms

short = st.floats(-1.75, 1.75, width=16)
pairs = arrays.arrays(np.float16, (2, 5), elements=short)


def whole(vector):
    return [Fraction(float(number)) for number in vector]


@given(pairs)
def test_a_similarity_is_three_rounded_operations_on_exact_sums(pair):
    left, right = map(whole, pair)
    dot, *squares = (
        float(sum(a * b for a, b in zip(x, y, strict=True)))
        for x, y in ((left, right), (left, left), (right, right))
    )
    length = math.sqrt(squares[0] * squares[1])

    assert squared_norms(pair).tolist() == squares
    assert cosines(pair[:1], pair[1:])[0, 0] == (dot / length if length else 0)


@given(arrays.arrays(np.float16, (3, 40), elements=st.floats(-0.5, 0.5, width=16)))
def test_a_vector_has_similarity_1_to_itself_and_no_pair_has_more(vectors):
    similarity = cosines(vectors, vectors)

    assert (np.diag(similarity) == (squared_norms(vectors) > 0)).all()
    assert np.abs(similarity).max() <= 1 + 2**-51


def test_scaling_a_vector_does_not_change_its_similarities():
    vectors = np.random.default_rng(0).uniform(-0.1, 0.1, (20, 64)).astype(np.float16)

    np.testing.assert_array_equal(cosines(vectors * 4, vectors), cosines(vectors, vectors))
