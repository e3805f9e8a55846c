import pyarrow as pa

from clipaudit.corpora.sorted_rows import GivenFiles, sorted_rows


def test_rows_that_are_sorted_together_may_have_more_text_than_an_array_of_strings_holds(tmp_path):
    addresses = {"shard": pa.array([0, 0], pa.int32()), "row": pa.array([0, 1], pa.int32())}
    samples = pa.table({**addresses, "uid": ["a", "b"]})
    given = GivenFiles([tmp_path / "given"], "id", "uid", "a setting")

    def rows_of(path, all_columns):
        yield pa.table({"value": ["b", "a"], "entries": ["of b", "of a"]})

    (found,) = sorted_rows([samples], given, rows_of, {"entries": pa.large_string()})

    assert found["entries"].to_pylist() == ["of a", "of b"]
    assert {found.schema.field(name).type for name in ("value", "entries")} == {pa.large_string()}
