import hashlib
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.errors import StoreError
from clipaudit.store import parquet
from clipaudit.store.parquet import read_batches, write_tables

SCHEMA = pa.schema(
    [
        pa.field("row", pa.int32(), nullable=False),
        pa.field("testset", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("similarity", pa.float64()),
        pa.field("embedding", pa.binary(4), nullable=False),
    ]
)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "row": pa.array(range(n), pa.int32()),
            "testset": pa.array(rng.choice(["val", "sketch"], n)).dictionary_encode(),
            "similarity": pa.array(rng.random(n), mask=rng.random(n) < 0.2),
            "embedding": pa.array([rng.bytes(4) for _ in range(n)], pa.binary(4)),
        },
        schema=SCHEMA,
    )


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("cut", [1, 7, 64, 1000])
def test_the_division_into_tables_does_not_change_the_file(tmp_path, monkeypatch, cut):
    monkeypatch.setattr(parquet, "ROWS_PER_GROUP", 50)
    table = rows(300)

    write_tables([table], SCHEMA, tmp_path / "whole")
    pieces = [table.slice(start, cut) for start in range(0, 300, cut)]
    write_tables(pieces, SCHEMA, tmp_path / "pieces")

    assert digest(tmp_path / "whole") == digest(tmp_path / "pieces")
    assert pq.read_table(tmp_path / "pieces").to_pylist() == table.to_pylist()


def test_two_processes_with_different_thread_counts_write_the_same_bytes(tmp_path):
    script = (
        "import sys, pyarrow as pa; from pathlib import Path\n"
        "from clipaudit.store.parquet import write_tables\n"
        "pa.set_cpu_count(int(sys.argv[1]))\n"
        "table = pa.table({'text': [str(i % 97) for i in range(200_000)], 'n': range(200_000)})\n"
        "write_tables([table], table.schema, Path(sys.argv[2]))\n"
    )
    for threads in ("1", "4"):
        path = tmp_path / threads
        subprocess.run([sys.executable, "-c", script, threads, path], check=True)

    assert digest(tmp_path / "1") == digest(tmp_path / "4")


def test_no_table_gives_a_file_without_rows(tmp_path):
    assert write_tables([], SCHEMA, tmp_path / "empty") == 0
    assert pq.read_table(tmp_path / "empty").schema.names == SCHEMA.names


def test_a_null_in_a_non_nullable_column_is_refused(tmp_path):
    schema = pa.schema([pa.field("row", pa.int32(), nullable=False)])

    with pytest.raises(ValueError, match="row"):
        write_tables([pa.table({"row": pa.array([1, None], pa.int32())})], schema, tmp_path / "x")


def test_vectors_are_stored_plain_and_uncompressed(tmp_path):
    write_tables([rows(10)], SCHEMA, tmp_path / "file")

    column = pq.ParquetFile(tmp_path / "file").metadata.row_group(0).column(3)
    assert column.compression == "UNCOMPRESSED"
    assert "PLAIN" in column.encodings
    assert not any("DICTIONARY" in encoding for encoding in column.encodings)


def test_a_range_of_rows_is_read_without_the_other_row_groups(tmp_path):
    path = tmp_path / "rows.parquet"
    schema = SCHEMA.with_metadata({parquet.GROUP_KEY: "10"})
    table = rows(95)
    write_tables([table], schema, path)
    assert pq.ParquetFile(path).num_row_groups == 10

    found = list(parquet.read_range(path, "row", 17, 42))

    assert [len(each) for each in found] == [0, 3, 10, 10, 3]
    assert pa.concat_tables(found).to_pylist() == table.slice(17, 26).to_pylist()


def test_an_empty_range_still_has_the_columns(tmp_path):
    path = tmp_path / "rows.parquet"
    write_tables([rows(5)], SCHEMA, path)

    (empty,) = parquet.read_range(path, "row", 5, 9)

    assert (len(empty), empty.schema.names) == (0, SCHEMA.names)


@given(
    count=st.integers(0, 300),
    rows_per_group=st.integers(1, 300),
    page_bytes=st.sampled_from([1, 5_000, 1 << 20]),
    compression=st.sampled_from(["none", "zstd"]),
    nulls=st.booleans(),
    rows_per_batch=st.integers(1, 400),
)
def test_batches_have_the_rows_of_the_file_however_it_is_divided(
    tmp_path_factory, count, rows_per_group, page_bytes, compression, nulls, rows_per_batch
):
    path = tmp_path_factory.getbasetemp() / "cut.parquet"
    numbers = pa.array(range(count), pa.int64(), mask=np.arange(count) % 3 == int(nulls) - 1)
    vectors = pa.array([row.to_bytes(1_000) for row in range(count)], pa.binary(1_000))
    table = pa.table({"row": numbers, "embedding": vectors})
    settings = {"row_group_size": rows_per_group, "data_page_size": page_bytes}
    pq.write_table(table, path, compression=compression, **settings)

    batches = list(read_batches(path, rows=rows_per_batch))

    assert pa.Table.from_batches(batches, table.schema).equals(table)
    assert all(len(batch) == rows_per_batch for batch in batches[:-1])


def test_memory_use_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "rows.parquet"
    schema = SCHEMA.with_metadata({parquet.GROUP_KEY: "500"})
    schema = schema.set(3, pa.field("embedding", pa.binary(2_000), nullable=False))
    vectors = pa.array([row.to_bytes(2_000) for row in range(8_000)], pa.binary(2_000))
    write_tables([rows(8_000).set_column(3, "embedding", vectors)], schema, path)  # 16 MB
    before = pa.total_allocated_bytes()

    held = [pa.total_allocated_bytes() - before for _ in read_batches(path, rows=500)]

    assert len(held) == 16
    assert max(held) < 4_000_000


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path):
    page = pq.ParquetFile(path).metadata.row_group(1).column(3).data_page_offset
    with path.open("r+b") as file:
        file.seek(page)
        file.write(b"\xff" * 16)


@pytest.mark.parametrize("damage", [cut, overwrite])
def test_a_file_that_is_damaged_while_it_is_read_is_reported(tmp_path, damage):
    path = tmp_path / "rows.parquet"
    write_tables([rows(90_000)], SCHEMA.with_metadata({parquet.GROUP_KEY: "30000"}), path)
    batches = read_batches(path, rows=1_000)
    next(batches)

    damage(path)

    with pytest.raises(StoreError, match=r"rows\.parquet: cannot be read as Parquet: .*--repair"):
        list(batches)


def test_a_file_that_is_not_parquet_is_reported(tmp_path):
    (tmp_path / "text").write_text("no Parquet at all")

    with pytest.raises(StoreError, match=r"text: cannot be read as Parquet: .*magic bytes"):
        next(read_batches(tmp_path / "text"))
