"""Write Parquet files whose bytes depend only on the table.

Writer settings and row group sizes are fixed, whatever the batches; there is no pandas metadata and
no timestamp. Writing the same rows twice, in two processes, with any thread count, gives the same
bytes (with the pinned pyarrow).
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from clipaudit.errors import StoreError
from clipaudit.plaintext import plain

ROWS_PER_GROUP = 65_536  # rows per row group, which a reader holds in memory
GROUP_KEY = "rows_per_group"  # key in a schema's metadata, if rows are read in smaller ranges
BLOB_FIELD = "embedding"  # fixed-size vectors: stored unencoded, so that reading only copies
BATCH_ROWS = 32_768  # rows per batch, as many as a search takes; affects memory, not results
BUFFER_BYTES = 1 << 16  # read of a column at a time, small enough for the CPU cache


def write_tables(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> int:
    """Write the rows of `tables`, in order, as one Parquet file; return the number of rows.

    Every table is cast to `schema`: a missing column or an unexpected null is a bug of ours and
    raises ValueError. Without tables the file has no rows.
    """
    rows = 0
    held = int((schema.metadata or {}).get(GROUP_KEY.encode(), ROWS_PER_GROUP))
    with pq.ParquetWriter(path, schema, **_writer_settings(schema)) as writer:
        for group in in_groups((table.select(schema.names).cast(schema) for table in tables), held):
            writer.write_table(_canonical(group), row_group_size=held)
            rows += group.num_rows
    return rows


def read_batches(path: Path, *, rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a stored file, in order, `rows` at a time, whatever its row groups.

    One batch is held, so memory does not grow with the file. The last batch may be smaller; a file
    without rows has none. Embeddings are read about as fast as numpy.load reads an array of the
    same numbers (benchmarks/onepass.py). Raise StoreError if the file is truncated or its pages are
    not readable.
    """
    try:
        # pre_buffer, pyarrow's default, would hold all groups until the last one is read
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
            yield from file.iter_batches(batch_size=rows, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # an error of the disk, not of the file: clipaudit.store.disks handles it
        said = plain(str(error).splitlines()[0].rstrip("."))
        raise StoreError(
            f"{path}: cannot be read as Parquet: {said}. `clipaudit verify --repair --configfile "
            "SETTINGS` computes it again."
        ) from error


def read_range(path: Path, column: str, first: int, last: int) -> Iterator[pa.Table]:
    """Yield the rows whose integer `column` is from `first` to `last`, both included, in order.

    The first table has no rows: it gives the columns of a file that holds no such row. Row groups
    whose statistics exclude the rows are not read; of the others one is held at a time. So for a
    file sorted by `column`, the cost is proportional to the rows requested. The file is open only
    while a row group is read: a job may read thousands of files in parallel.
    """
    metadata = pq.read_metadata(path)
    schema = metadata.schema.to_arrow_schema()
    yield schema.empty_table()
    place = schema.names.index(column)
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(place).statistics
        known = statistics is not None and statistics.has_min_max
        if known and (statistics.max < first or statistics.min > last):
            continue
        with pq.ParquetFile(path, metadata=metadata) as file:
            rows = file.read_row_group(group)
        values = rows[column]
        yield rows.filter(pc.and_(pc.greater_equal(values, first), pc.less_equal(values, last)))


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


def in_groups(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Yield tables of `rows` rows, the last one smaller: join small tables and cut large ones."""
    waiting: list[pa.Table] = []
    held = 0
    for table in tables:
        waiting.append(table)
        held += table.num_rows
        if held >= rows:
            joined = pa.concat_tables(waiting)
            whole = held - held % rows
            yield from (joined.slice(start, rows) for start in range(0, whole, rows))
            held -= whole
            waiting = [joined.slice(whole)] if held else []  # an empty slice would keep all rows
    if held:
        yield pa.concat_tables(waiting)


def _canonical(table: pa.Table) -> pa.Table:
    """Return one chunk with dictionaries in order of appearance, to remove traces of chunking."""
    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type).dictionary_encode().cast(column.type)
        columns.append(column)
    return pa.table(columns, schema=table.schema).combine_chunks()
