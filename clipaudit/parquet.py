"""Parquet whose bytes are a function of the table alone.

Fixed writer settings, row groups cut at fixed rows whatever the batches were, no pandas metadata,
no timestamps: writing the same rows twice, in two processes, with any thread count, gives the same
bytes (with the pinned pyarrow).
"""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP = 65_536  # rows of a row group: what a reader of row groups holds at once
BLOB_FIELD = "embedding"  # fixed-size vectors: stored as they are, so that reading is copying


def write_tables(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> int:
    """Write the rows of `tables`, in order, as one Parquet file; return how many there were.

    Every table is cast to `schema`: a missing column or a null where the schema has none is a bug
    of ours and raises ValueError. No table at all gives a file of no rows.
    """
    rows = 0
    with pq.ParquetWriter(path, schema, **_writer_settings(schema)) as writer:
        for group in _regroup(tables, schema):
            writer.write_table(group, row_group_size=ROWS_PER_GROUP)
            rows += group.num_rows
    return rows


def _writer_settings(schema: pa.Schema) -> dict[str, object]:
    blobs = BLOB_FIELD in schema.names
    plain = [name for name in schema.names if name != BLOB_FIELD]
    return {
        "version": "2.6",
        "compression": {name: "zstd" for name in plain} | ({BLOB_FIELD: "none"} if blobs else {}),
        "use_dictionary": [
            field.name
            for field in schema
            if pa.types.is_string(field.type) or pa.types.is_dictionary(field.type)
        ],
        "write_statistics": plain,
        "data_page_size": 1 << 20,
        "store_schema": True,
    }


def _regroup(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterable[pa.Table]:
    """Cut the rows into tables of ROWS_PER_GROUP, so that batch sizes leave no trace."""
    waiting: list[pa.Table] = []
    held = 0
    for table in tables:
        waiting.append(table.select(schema.names).cast(schema))
        held += table.num_rows
        while held >= ROWS_PER_GROUP:
            joined = pa.concat_tables(waiting)
            yield _canonical(joined.slice(0, ROWS_PER_GROUP))
            rest = joined.slice(ROWS_PER_GROUP)
            waiting, held = [rest], rest.num_rows
    if held:
        yield _canonical(pa.concat_tables(waiting))


def _canonical(table: pa.Table) -> pa.Table:
    """One chunk, dictionaries rebuilt in order of appearance: chunking leaves no trace either."""
    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type).dictionary_encode().cast(column.type)
        columns.append(column)
    return pa.table(columns, schema=table.schema).combine_chunks()
