import numpy as np
import pyarrow as pa
import pytest

from clipaudit.parrot.curation_parts import above_threshold, read_parts, stated_aesthetics


def addressed(rows, **columns):
    shard, row = pa.array([0] * len(rows), pa.int32()), pa.array(rows, pa.int32())
    return pa.table({"shard": shard, "row": row, **columns})


def test_only_numbers_are_read_and_other_values_are_null():
    texts = ['{"a": 5.5}', '{"a": 3}', '{"a": "6"}', '{"a": true}', '{"a": NaN}', "{}", None]
    samples = addressed(range(7), metadata=pa.array(texts, pa.string()))

    scores = stated_aesthetics(samples, "a")

    assert scores["aesthetics"].to_pylist() == [5.5, 3.0, None, None, None, None, None]


def test_an_integer_beyond_floats_is_null():
    samples = addressed([0], metadata=pa.array([f'{{"a": {10**400}}}'], pa.string()))

    assert stated_aesthetics(samples, "a")["aesthetics"].to_pylist() == [None]


@pytest.mark.parametrize(("threshold", "left"), [(0.5, [1, 3]), (0.6, [3]), (0.9, [])])
def test_a_sample_is_removed_below_its_removal_similarity(threshold, left):
    similarity = pa.array([None, 0.6, 0.5, 0.7], pa.float64())

    removed = above_threshold([addressed(range(4), similarity=similarity)], threshold)

    assert removed["row"].to_pylist() == left


def test_parts_have_the_tables_that_exist():
    inputs = {"base": [addressed([0]), addressed([1])], "matches": [addressed([0]), addressed([1])]}

    parts = list(
        read_parts(lambda name: iter(inputs.get(name, [])), aesthetics_field=None, duplicates=None)
    )

    assert [part.base["row"].to_pylist() for part in parts] == [[0], [1]]
    assert {(part.scores, part.aesthetics, part.duplicates) for part in parts} == {(None,) * 3}


def test_each_part_gets_only_the_duplicates_of_its_own_shards():
    shards, rows = pa.array([2, 0, 1, 0, 2], pa.int32()), pa.array(range(5), pa.int32())
    duplicates = pa.table({"shard": shards, "row": rows})
    bases = [duplicates.filter(pa.array(np.isin(shards, own))) for own in ([0, 1], [2], [3])]
    inputs = {"base": bases, "matches": bases}

    parts = read_parts(
        lambda name: iter(inputs.get(name, [])), aesthetics_field=None, duplicates=duplicates
    )

    found = [sorted(part.duplicates["row"].to_pylist()) for part in parts]
    assert found == [[1, 2, 3], [0, 4], []]


def test_aesthetics_are_read_for_their_own_part():
    texts = [pa.array(['{"a": 1}']), pa.array(['{"a": 2}'])]
    samples = [addressed([row], metadata=text) for row, text in enumerate(texts)]
    inputs = {"base": samples, "matches": samples, "samples": samples}

    parts = read_parts(
        lambda name: iter(inputs.get(name, [])), aesthetics_field="a", duplicates=None
    )

    assert [part.aesthetics["aesthetics"].to_pylist() for part in parts] == [[1.0], [2.0]]


def test_given_scores_are_requested_by_the_shards_of_each_part():
    bases = [addressed([0, 1]), addressed([])]
    inputs = {"base": bases, "matches": bases}
    asked = []

    def given(first, last):
        asked.append((first, last))
        return addressed([1], aesthetics=[0.5])

    tables = lambda name: iter(inputs.get(name, []))  # noqa: E731
    parts = list(read_parts(tables, aesthetics_field=None, duplicates=None, given=given))

    assert asked == [(0, 0), (0, 0)]
    assert parts[0].aesthetics["aesthetics"].to_pylist() == [0.5]
