"""Stored embeddings as a matrix, and in blocks."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from jaxtyping import Float16

from clipaudit.errors import InputError


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
    """Yield EMBEDDINGS `rows` rows at a time, at the end fewer: small blocks joined, large cut."""
    waiting: list[pa.Table] = []
    held = 0
    for block in blocks:
        table = pa.Table.from_batches([block]) if isinstance(block, pa.RecordBatch) else block
        waiting.append(table.select(["shard", "row", "embedding"]).replace_schema_metadata(None))
        held += table.num_rows
        if held >= rows:
            joined = pa.concat_tables(waiting)
            whole = held - held % rows
            yield from (joined.slice(start, rows) for start in range(0, whole, rows))
            held -= whole
            waiting = [joined.slice(whole)] if held else []  # an empty slice would hold all rows
    if held:
        yield pa.concat_tables(waiting)
