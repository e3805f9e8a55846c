import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clipaudit.errors import InputError
from clipaudit.parrot.given_scores import sort_scores


def samples(*keys, shard=0):
    rows = range(len(keys))
    columns = {"shard": [shard] * len(keys), "row": rows, "key": keys, "uid": keys}
    schema = {"shard": pa.int32(), "row": pa.int32(), "key": pa.string(), "uid": pa.string()}
    return pa.table(columns, schema=pa.schema(schema.items()))


def sorted_scores(folder, parts, *files):
    paths = []
    for number, columns in enumerate(files):
        paths.append(folder / f"{number}.parquet")
        pq.write_table(pa.table(columns), paths[-1])
    found = sort_scores(parts, paths, column="id", score="dfn", join_on="uid")
    return [tuple(row.values()) for table in found for row in table.to_pylist()]


def test_scores_are_matched_to_samples_in_any_file_and_order(tmp_path):
    parts = [samples("a", "b"), samples("c", "d", shard=1)]
    files = [{"id": ["c", "z"], "dfn": [3, 9]}, {"id": ["b", "a"], "dfn": [0.5, None]}]

    found = sorted_scores(tmp_path, parts, *files)

    assert found == [(0, 0, None), (0, 1, 0.5), (1, 0, 3.0)]


def test_a_value_that_is_not_finite_is_not_a_score(tmp_path):
    files = {"id": ["a", "b", "c"], "dfn": [math.nan, math.inf, 1.0]}

    found = sorted_scores(tmp_path, [samples("a", "b", "c")], files)

    assert [score for *_, score in found] == [None, None, 1.0]


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_keys_and_scores_of_other_types_are_read(tmp_path, kind):
    scores = pa.array([Decimal("0.5"), Decimal("1.5")], pa.decimal128(3, 1))
    files = {"id": pa.array(["a", "b"], pa.string()).cast(kind), "dfn": scores}

    found = sorted_scores(tmp_path, [samples("a", "b")], files)

    assert [score for *_, score in found] == [0.5, 1.5]


def test_identical_rows_count_once_and_differing_ones_are_refused(tmp_path):
    same = {"id": ["a", "a"], "dfn": [1.0, 1.0]}

    assert sorted_scores(tmp_path, [samples("a")], same) == [(0, 0, 1.0)]
    with pytest.raises(InputError, match=r"1.parquet: id 'a' scores 2.0, and in .*0.parquet 1.0"):
        sorted_scores(tmp_path, [samples("a")], same, {"id": ["a"], "dfn": [2.0]})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"id": ["a"], "score": [1.0]}, "no column 'dfn', but id, score"),
        ({"id": ["a"], "dfn": ["1"]}, "column 'dfn' is string; give numbers"),
        ({"id": [[1]], "dfn": [1]}, "column 'id' is list.*; give texts or whole numbers"),
        ({"id": [1.0], "dfn": [1.0]}, "'id' is double; give texts or whole numbers"),
        ({"id": ["a"], "dfn": [2**53 + 1]}, "0.parquet: column 'dfn' does not fit into double"),
        ({"id": ["z"], "dfn": [1.0]}, "0.parquet"),
    ],
)
def test_a_file_that_cannot_be_joined_is_refused(tmp_path, columns, message):
    with pytest.raises(InputError, match=message):
        sorted_scores(tmp_path, [samples("a")], columns)
