"""The map of embeddings: neighbourhoods, reproducibility and limits."""

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_limits

from clipaudit.corpora.vectors import binary_rows
from clipaudit.embeddings.vector_map import VECTOR_MAP, map_vectors, planar

SIZES = {"samples": 50, "test_samples": 10, "seed": 0}


def embedded(vectors):
    rows = np.arange(len(vectors), dtype=np.int32)
    columns = [np.zeros_like(rows), rows, binary_rows(vectors)]
    return pa.table(columns, names=["shard", "row", "embedding"])


def clusters(count, of, d=16):
    """`count` groups of `of` vectors around directions at right angles, one after the other."""
    noise = np.random.default_rng(0).normal(0, 0.02, (count * of, d))
    return (np.eye(d)[np.repeat(np.arange(count), of)] + noise).astype(np.float16)


def test_planted_clusters_are_apart():
    places = planar(clusters(4, 40), seed=0)

    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :10] // 40
    assert (nearest == np.repeat(np.arange(4), 40)[:, None]).mean() > 0.99


def test_the_number_of_threads_changes_no_byte():
    vectors = clusters(3, 100)
    found = []

    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(planar(vectors, seed=0).tobytes())

    assert found[0] == found[1]


def test_batches_change_no_byte():
    table = embedded(clusters(4, 40))
    whole = map_vectors([table], {}, **SIZES)

    pieces = map_vectors([table[90:], table[:33], table[33:90]], {}, **SIZES)

    assert pieces.equals(whole)


def test_another_random_seed_draws_other_samples():
    table = embedded(clusters(4, 40))

    rows = [map_vectors([table], {}, **SIZES | {"seed": seed})["row"] for seed in (0, 1)]

    assert rows[0] != rows[1]


def test_the_sample_limit_holds_and_test_sets_follow_the_corpus():
    corpus, test = embedded(clusters(4, 40)), embedded(clusters(2, 20))

    mapped = map_vectors([corpus], {"val": [test], "few": [test[:3]]}, **SIZES)

    assert mapped.schema == VECTOR_MAP
    assert mapped["testset"].to_pylist() == [None] * 50 + ["val"] * 10 + ["few"] * 3


@pytest.mark.parametrize("tests", [{}, {"val": []}])
def test_no_samples_give_no_rows(tests):
    assert len(map_vectors([embedded(np.empty((0, 4), np.float16))], tests, **SIZES)) == 0


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("d", [1, 2, 16])
def test_few_vectors_have_finite_positions(count, d):
    vectors = np.random.default_rng(0).normal(size=(count, d)).astype(np.float16)

    assert np.isfinite(planar(vectors, seed=0)).all()


@pytest.mark.parametrize("count", [1, 200])
def test_equal_vectors_share_a_position(count):
    assert (planar(np.ones((count, 8), np.float16), seed=0) == 0).all()


def test_many_repeated_vectors_have_finite_positions():
    vectors = np.concatenate([np.repeat(clusters(1, 1), 150, axis=0), clusters(2, 30)])

    assert np.isfinite(planar(vectors, seed=0)).all()
