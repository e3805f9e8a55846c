"""Comparisons with all texts: the same as from every cosine of an image in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clipaudit.parrot.probe_choices import TOLERANCE, compare_choices, number_choices


def unit_rows(rng, n, d=8):
    rows = rng.standard_normal((n, d))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def brute_force(image, own, texts):
    cosines = [float(np.dot(image.astype(float), text.astype(float))) for text in texts]
    others = [cosine for place, cosine in enumerate(cosines) if place != own]
    rank = sum(cosine > cosines[own] + TOLERANCE for cosine in others)
    equal = sum(abs(cosine - cosines[own]) <= TOLERANCE for cosine in others)
    mean = sum(others) / len(others) if others else float("nan")
    return cosines[own], mean, rank, 0 if rank else 1 / (1 + equal)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 12), st.integers(1, 40))
def test_comparisons_equal_those_by_single_products(seed, choices, pictures, block):
    rng = np.random.default_rng(seed)
    texts = unit_rows(rng, choices)[rng.integers(0, choices, choices)]  # some are equal
    images, own = unit_rows(rng, pictures), rng.integers(0, choices, pictures)

    found = compare_choices(images, own, torch.tensor(texts), block=block)

    expected = [brute_force(image, place, texts) for image, place in zip(images, own, strict=True)]
    matched, mismatched, rank, right = map(np.array, zip(*expected, strict=True))
    np.testing.assert_allclose(found.matched, matched, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.mismatched, mismatched, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.rank, rank)
    np.testing.assert_array_equal(found.right, right)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_exact_products_give_the_same_comparison_in_any_block_size(block):
    rng = np.random.default_rng(0)
    texts = rng.choice(np.float32([-0.5, 0.5]), (50, 4))
    images, own = rng.choice(np.float32([-0.5, 0.5]), (20, 4)), rng.integers(0, 50, 20)

    found = compare_choices(images, own, torch.tensor(texts), block=block)

    whole = compare_choices(images, own, torch.tensor(texts))
    assert all(np.array_equal(one, other) for one, other in zip(found, whole, strict=True))


def test_a_model_that_rates_all_texts_equal_is_right_at_chance_level():
    texts = np.ones((5, 4), np.float32) / 2

    found = compare_choices(texts, range(5), torch.tensor(texts))

    assert found.right.tolist() == [0.2] * 5
    assert (found.matched - found.mismatched).tolist() == [0.0] * 5


def test_a_single_choice_is_right_and_has_no_alternative():
    found = compare_choices(np.eye(2, dtype=np.float32)[:1], [0], torch.eye(2)[:1])

    assert (found.rank.tolist(), found.right.tolist()) == ([0], [1.0])
    assert np.isnan(found.mismatched).all()


def test_texts_of_the_same_tokens_are_one_choice_across_batches():
    batches = [torch.tensor([[1, 2], [1, 3]]), torch.tensor([[1, 3], [2, 1], [1, 2]])]

    choices, firsts = number_choices(batches)

    assert choices.tolist() == [0, 1, 1, 2, 0]
    assert firsts == [0, 1, 3]
