import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.copies import search
from clipaudit.copies.search import hash_pairs, thumbnail_pairs

SIZES = st.integers(0, 40)


def joined(blocks):
    found = [np.stack([pair.first, pair.second, pair.distance]) for pair in blocks]
    return sorted(map(tuple, np.concatenate(found, axis=1).T.tolist())) if found else []


def brute(distances, limit):
    rows, columns = np.nonzero(distances <= limit)
    return sorted(
        (int(row), int(column), int(distances[row, column]))
        for row, column in zip(rows, columns, strict=True)
    )


@given(n=SIZES, m=SIZES, distance=st.integers(0, 256), seed=st.integers(0, 99))
def test_hash_pairs_equal_those_of_brute_force(n, m, distance, seed):
    dice = np.random.default_rng(seed)
    first, second = (dice.integers(0, 4, (k, 32), dtype=np.uint8) for k in (n, m))
    distances = np.bitwise_count(first[:, None] ^ second[None]).sum(axis=2, dtype=int)

    found = joined(hash_pairs(first, second, distance=distance))

    assert found == brute(distances, distance)


@given(n=SIZES, m=SIZES, distance=st.integers(0, 100_000), seed=st.integers(0, 99))
def test_thumbnail_pairs_equal_those_of_brute_force(n, m, distance, seed):
    dice = np.random.default_rng(seed)
    first, second = (dice.integers(0, 128, (k, 192), dtype=np.uint8) // 8 * 4 for k in (n, m))
    distances = ((first[:, None].astype(int) - second[None]) ** 2).sum(axis=2)

    assert joined(thumbnail_pairs(first, second, distance=distance)) == brute(distances, distance)


def test_sums_of_the_largest_thumbnail_distances_are_exact():
    black, white = np.zeros((1, 192), np.uint8), np.full((1, 192), 127, np.uint8)
    farthest = 192 * 127**2

    assert joined(thumbnail_pairs(black, white, distance=farthest)) == [(0, 0, farthest)]
    assert joined(thumbnail_pairs(black, white, distance=farthest - 1)) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_and_threads_change_no_pair(monkeypatch, threads):
    dice = np.random.default_rng(0)
    first, second = (dice.integers(0, 8, (k, 32), dtype=np.uint8) for k in (70, 300))
    whole = joined(hash_pairs(first, second, distance=40))
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    monkeypatch.setattr(search, "HASH_BLOCK", 13)
    monkeypatch.setattr(search, "STREAM_BLOCK", 37)

    cut = joined(hash_pairs(first, second, distance=40))

    faiss.omp_set_num_threads(before)
    assert whole
    assert cut == whole
