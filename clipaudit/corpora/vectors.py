"""Reads stored embeddings as a matrix, and in blocks."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from jaxtyping import Float16

from clipaudit.errors import InputError
from clipaudit.store.parquet import in_groups


def embedding_array(table: pa.Table | pa.RecordBatch, place: str) -> Float16[np.ndarray, "n d"]:
    """Return the column `embedding` of EMBEDDINGS as read-only rows, without copying one chunk."""
    column = table.column("embedding")
    if not pa.types.is_fixed_size_binary(column.type) or column.type.byte_width % 2:
        raise InputError(
            f"{place}: column embedding is {column.type}, not fixed_size_binary of 2 bytes for "
            "each dimension; embed these shards again"
        )
    if column.null_count:
        raise InputError(f"{place}: {column.null_count} embeddings are null; embed again")
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    d = column.type.byte_width // 2
    arrays = [_float16_view(chunk, d) for chunk in chunks if len(chunk)]
    if not arrays:
        return np.empty((0, d), dtype=np.float16)
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _float16_view(chunk: pa.FixedSizeBinaryArray, d: int) -> Float16[np.ndarray, "n d"]:
    values = np.frombuffer(chunk.buffers()[1], dtype="<f2")
    return values[chunk.offset * d : (chunk.offset + len(chunk)) * d].reshape(len(chunk), d)


def in_blocks(blocks: Iterable[pa.Table | pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield EMBEDDINGS `rows` rows at a time, fewer at the end, from blocks of any size."""
    tables = map(as_table, blocks)
    columns = ["shard", "row", "embedding"]
    return in_groups(
        (table.select(columns).replace_schema_metadata(None) for table in tables), rows
    )


def as_table(block: pa.Table | pa.RecordBatch) -> pa.Table:
    """Return a batch as a table, and a table unchanged."""
    return pa.Table.from_batches([block]) if isinstance(block, pa.RecordBatch) else block


def binary_rows(vectors: Float16[np.ndarray, "n d"]) -> pa.Array:
    """Return vectors as the column `embedding` stores them."""
    data = pa.py_buffer(np.ascontiguousarray(vectors).tobytes())
    return pa.Array.from_buffers(pa.binary(2 * vectors.shape[1]), len(vectors), [None, data])
