import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clipaudit.embeddings.embedding_files import EmbeddingFiles
from clipaudit.errors import InputError


def unit_rows(count, dimension=8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture
def pair(tmp_path):
    """Write an array and its metadata; return both paths."""

    def write(name, rows, keys):
        np.save(tmp_path / f"{name}.npy", rows)
        pq.write_table(pa.table({"key": keys}), tmp_path / f"{name}.parquet")
        return tmp_path / f"{name}.npy", tmp_path / f"{name}.parquet"

    return write


def opened(*pairs, column="key"):
    return EmbeddingFiles(pairs, column=column)


def test_values_are_found_in_any_file_and_order(pair):
    files = opened(
        pair("0", unit_rows(3), ["c", "a", None]), pair("1", unit_rows(2), ["spare", "b"])
    )

    found = files.find(pa.array(["a", "b", "c", "d", None]))

    assert [places.tolist() for places in found] == [[0, 1, 0, -1, -1], [1, 1, 0, -1, -1]]


@given(
    st.lists(st.text(max_size=3), unique=True, max_size=30),
    st.lists(st.text(max_size=3), unique=True, min_size=1, max_size=10),
    st.integers(1, 5),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_row_groups_excluded_by_statistics_contain_no_requested_row(tmp_path, keys, wanted, size):
    np.save(tmp_path / "0.npy", unit_rows(len(keys)))
    table = pa.table({"key": pa.array(keys, pa.string())})
    pq.write_table(table, tmp_path / "0.parquet", row_group_size=size)
    files = opened((tmp_path / "0.npy", tmp_path / "0.parquet"))

    _, rows = files.find(pa.array(wanted))

    assert rows.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]


def test_a_file_without_rows_may_have_a_column_without_a_type(pair):
    files = opened(pair("0", unit_rows(0), pa.nulls(0)), pair("1", unit_rows(1), ["a"]))

    assert [places.tolist() for places in files.find(pa.array(["a"]))] == [[1], [0]]


def test_a_column_of_lists_is_refused(pair):
    with pytest.raises(InputError, match=r"0\.parquet: column 'key' of type list<.*> is not text"):
        opened(pair("0", unit_rows(1), [["a"]])).find(pa.array(["a"]))


def test_rows_are_read_in_the_requested_order(pair):
    first, second = unit_rows(3), unit_rows(2, seed=1)
    files = opened(pair("0", first, ["a", "b", "c"]), pair("1", second, ["d", "e"]))

    read = files.read(np.array([1, 0, 1]), np.array([0, 2, 1]))

    assert read.tolist() == [second[0].tolist(), first[2].tolist(), second[1].tolist()]


def test_an_error_names_the_array_among_several(tmp_path, pair):
    _, metadata = pair("0", unit_rows(2), ["a", "b"])
    np.savez(tmp_path / "0.npz", b32_img=unit_rows(2), l14_img=unit_rows(2, 12))
    pairs = [(tmp_path / "0.npz", metadata)]

    assert EmbeddingFiles(pairs, column="key", array="l14_img").dimension == 12
    with pytest.raises(InputError, match="no array 'l14', but b32_img, l14_img"):
        EmbeddingFiles(pairs, column="key", array="l14")


def test_different_row_counts_are_refused(pair):
    with pytest.raises(InputError, match=r"0\.npy: 3 embeddings but 2 rows in .*0\.parquet\. They"):
        opened(pair("0", unit_rows(3), ["a", "b"]))


@pytest.mark.parametrize("rows", [np.zeros((2, 8), np.int8), np.zeros(2, np.float16)])
def test_an_array_that_is_not_a_matrix_of_numbers_is_refused(pair, rows):
    with pytest.raises(InputError, match=r"an array of shape \(2.*\) and type (int8|float16), exp"):
        opened(pair("0", rows, ["a", "b"]))


def test_embeddings_of_two_models_are_not_mixed(pair):
    with pytest.raises(InputError, match=r"0\.npy: rows of 8 numbers, but .*1\.npy has 12"):
        opened(pair("0", unit_rows(1), ["a"]), pair("1", unit_rows(1, 12), ["b"]))


@pytest.mark.parametrize("length", [1e-30, 0.5, 20, 1e30])
def test_rows_of_another_length_are_scaled(pair, length):
    rows = unit_rows(3).astype(np.float64)
    files = opened(pair("0", rows * [[1], [length], [length]], ["a", "b", "c"]))

    read = files.read(np.zeros(3, np.int64), np.arange(3))

    assert np.abs(read - rows).max() < 0.001
    assert files.lengths.startswith(f"2 of 3 rows have a length of {length:.3g} to {length:.3g}")


def test_rows_without_a_direction_are_unchanged(pair):
    files = opened(pair("0", np.array([[0, 0], [np.inf, 0], [1, 1e300]]), ["a", "b", "c"]))

    read = files.read(np.zeros(3, np.int64), np.arange(3))

    assert read.tolist()[:2] == [[0, 0], [np.inf, 0]]


@pytest.mark.parametrize("keys", [(["a", "b", "a"], ["c"]), (["a", "b", "d"], ["a"])])
def test_a_value_with_two_embeddings_is_refused(pair, keys):
    files = opened(pair("0", unit_rows(3), keys[0]), pair("1", unit_rows(1), keys[1]))

    with pytest.raises(InputError, match="1 samples have two embeddings, first key 'a'"):
        files.find(pa.array(["a", "b"]))


def test_a_missing_column_is_refused_with_a_list_of_columns(pair):
    with pytest.raises(InputError, match=r"no column 'uid', but key\. Name one"):
        opened(pair("0", unit_rows(1), ["a"]), column="uid")


def test_pickled_arrays_are_refused(pair):
    with pytest.raises(InputError, match=r"an array of shape \(1,\) and type object"):
        opened(pair("0", np.array([None]), ["a"]))


def test_a_truncated_array_is_refused(pair):
    path, metadata = pair("0", unit_rows(3), ["a", "b", "c"])
    path.write_bytes(path.read_bytes()[:-2])

    with pytest.raises(InputError, match=r"0\.npy: cannot be read as an array: .* Fetch it again"):
        opened((path, metadata)).read(np.array([0]), np.array([0]))


@pytest.mark.parametrize("content", [b"", b"no array at all", b"\x93NUMPY\x01\x00"])
@pytest.mark.parametrize("array", [None, "l14_img"])
def test_a_file_that_is_not_an_array_is_refused(tmp_path, pair, content, array):
    _, metadata = pair("0", unit_rows(1), ["a"])
    (tmp_path / "bad").write_bytes(content)

    with pytest.raises(InputError, match="bad: cannot be read as an array"):
        EmbeddingFiles([(tmp_path / "bad", metadata)], column="key", array=array)
