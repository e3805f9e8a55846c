import numpy as np
import pyarrow as pa
import pytest

from clipaudit.copies.sampling import draw_sample, sampled


def part(shard, rows=50):
    columns = {"shard": np.full(rows, shard, np.int32), "row": np.arange(rows, dtype=np.int32)}
    return pa.table(columns)


def chosen(parts, size, seed=0):
    sample = draw_sample(parts, size=size, seed=seed)
    tables = [sampled(each, sample, seed=seed) for each in parts]
    return {tuple(row.values()) for table in tables for row in table.to_pylist()}


@pytest.mark.parametrize(("size", "expected"), [(1, 1), (60, 60), (99, 99), (1000, 100)])
def test_a_sample_has_the_requested_size(size, expected):
    assert len(chosen([part(0), part(1)], size)) == expected


def test_a_larger_sample_contains_the_smaller_one():
    parts = [part(0), part(1)]

    assert chosen(parts, 10) < chosen(parts, 30)


def test_splitting_into_parts_changes_no_sample():
    parts = [part(0), part(1)]

    assert chosen([pa.concat_tables(parts)], 20) == chosen(parts, 20)


def test_another_random_seed_draws_another_sample():
    assert chosen([part(0)], 20) != chosen([part(0)], 20, seed=1)


def test_an_empty_corpus_gives_an_empty_sample():
    assert chosen([part(0, 0)], 20) == set()
