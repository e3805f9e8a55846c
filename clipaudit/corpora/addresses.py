"""The address of a sample as one number, in the order of (shard, row)."""

import numpy as np
import pyarrow as pa
from jaxtyping import Int64


def sample_addresses(
    table: pa.Table | pa.RecordBatch, shard: str = "shard", row: str = "row"
) -> Int64[np.ndarray, " n"]:
    """Return `shard << 32 | row` of every row of a table, from its columns of these names."""
    shards: np.ndarray = table.column(shard).to_numpy().astype(np.int64)
    rows: np.ndarray = table.column(row).to_numpy().astype(np.int64)
    addresses: np.ndarray = (shards << 32) | rows
    return addresses
