import textwrap
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from peakmemory import peak_memory_mb

from clipaudit.corpora import sorted_rows
from clipaudit.errors import InputError
from clipaudit.memorization import sorted_objects
from clipaudit.memorization.sorted_objects import SORTED_OBJECTS, sort_objects


def part(shard, keys):
    """The columns of SAMPLES of one shard that count here."""
    n = len(keys)
    columns = {"shard": pa.array([shard] * n, pa.int32()), "row": pa.array(range(n), pa.int32())}
    return pa.table({**columns, "key": pa.array(keys, pa.string())})


@pytest.fixture
def given(tmp_path):
    """A function: a Parquet file of keys and their labels."""

    def write(name, **labels):
        columns = {"key": pa.array(labels, pa.string()), "labels": list(labels.values())}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        return tmp_path / f"{name}.parquet"

    return write


def objects_of(parts, *files):
    tables = list(sort_objects(parts, files, column="key", join_on="key"))
    return pa.concat_tables([SORTED_OBJECTS.empty_table(), *tables])


def test_rows_of_all_files_follow_the_order_of_all_parts(given):
    rng = np.random.default_rng(0)
    keys = [f"k{number}" for number in range(60)]
    wanted = rng.permutation(keys)[:50].tolist()
    shuffled = rng.permutation(keys)
    files = [given(str(at), **{key: [int(key[1:])] for key in shuffled[at::3]}) for at in range(3)]

    table = objects_of([part(0, wanted[:20]), part(1, wanted[20:])], *files)

    assert table.schema == SORTED_OBJECTS
    assert [[f"k{label}" for label in labels] for labels in table["labels"].to_pylist()] == [
        [key] for key in wanted
    ]
    assert table["shard"].to_pylist() == [0] * 20 + [1] * 30


def test_each_file_is_read_twice_for_any_number_of_parts(given, monkeypatch):
    files = [given(str(at), **{f"k{at}": [at]}) for at in range(3)]
    reads = Counter()
    plain = pq.ParquetFile.iter_batches

    def counted(file, *args, **kwargs):
        reads[file.schema_arrow.names[0]] += 1
        return plain(file, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", counted)
    objects_of([part(shard, [f"k{shard % 3}"]) for shard in range(12)], *files)

    assert reads == {"key": 2 * 3}


def test_a_key_in_two_parts_gives_its_objects_to_each_sample(given):
    table = objects_of([part(0, ["a"]), part(1, ["b", "a"])], given("one", a=[7]))

    assert table.select(["shard", "row", "labels"]).to_pylist() == [
        {"shard": 0, "row": 0, "labels": [7]},
        {"shard": 1, "row": 1, "labels": [7]},
    ]


def test_more_samples_than_are_held_at_once_give_the_same_rows(given, monkeypatch):
    parts = [part(shard, [f"k{3 * shard + row}" for row in range(3)]) for shard in range(5)]
    files = [given(str(at), **{f"k{n}": [n] for n in range(at, 15, 2)}) for at in range(2)]
    plain = objects_of(parts, *files)

    monkeypatch.setattr(sorted_rows, "LEAST_ROWS", 4)
    monkeypatch.setattr(sorted_objects, "_ROWS_AT_ONCE", 2)

    assert objects_of(parts, *files).equals(plain)
    assert len(list(sort_objects(parts, files, column="key", join_on="key"))) > 1


def test_differing_rows_give_an_error_with_both_files(given):
    files = given("one", a=[1], b=[2]), given("other", b=[3])

    with pytest.raises(InputError, match=r"other.*'b' gives 1 .*one\.parquet gives 1 different"):
        objects_of([part(0, ["a", "b"])], *files)


def test_no_samples_request_no_rows(given):
    assert len(objects_of([part(0, [])], given("one", a=[1]))) == 0


SORT = textwrap.dedent(
    """
    import sys
    from pathlib import Path

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from clipaudit.corpora import sorted_rows
    from clipaudit.memorization import sorted_objects

    sorted_rows._DUCKDB["memory_limit"] = "64MiB"
    sorted_rows.LEAST_ROWS = 20_000
    files, folder, rows = int(sys.argv[1]), Path(sys.argv[2]), 10_000
    keys = lambda shard: pa.array([f"{shard}-{row}" for row in range(rows)])
    labels = pa.FixedSizeListArray.from_arrays(np.arange(rows * 80, dtype=np.int64), 80)
    for number in range(files):
        table = pa.table({"key": keys(number), "labels": labels.cast(pa.list_(pa.int64()))})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=5_000)
    parts = (
        pa.table({
            "shard": np.full(rows, shard, np.int32),
            "row": np.arange(rows, dtype=np.int32),
            "key": keys(shard),
        })
        for shard in range(files)
    )
    paths = [folder / f"{number}.parquet" for number in reversed(range(files))]
    found = sorted_objects.sort_objects(parts, paths, column="key", join_on="key")
    assert sum(map(len, found)) == files * rows
    """
)


def test_more_files_need_no_more_memory(tmp_path):
    few, many = (peak_memory_mb(SORT, files, tmp_path) for files in (15, 35))

    assert many - few < 60  # of 128 MB more that are read
