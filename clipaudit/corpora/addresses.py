"""Packs the address of a sample into one number, in the order of (shard, row)."""

import numpy as np
import pyarrow as pa
from jaxtyping import Int32, Int64


def sample_address(shard: int, row: int) -> int:
    """Return the address of the sample in this row of this shard.

    >>> sample_address(3, 7)
    12884901895
    """
    return shard << 32 | row


def shard_row(address: int) -> tuple[int, int]:
    """Return (shard, row) of an address.

    >>> shard_row(12884901895)
    (3, 7)
    """
    return address >> 32, address & 0xFFFFFFFF


def sample_addresses(
    table: pa.Table | pa.RecordBatch, shard: str = "shard", row: str = "row"
) -> Int64[np.ndarray, " n"]:
    """Return the address of every row of a table, from its columns of these names."""
    shards: np.ndarray = table.column(shard).to_numpy().astype(np.int64)
    rows: np.ndarray = table.column(row).to_numpy().astype(np.int64)
    addresses: np.ndarray = (shards << 32) | rows
    return addresses


def shards_and_rows(
    addresses: Int64[np.ndarray, " n"],
) -> tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " n"]]:
    """Return the shard and the row of each address."""
    return (addresses >> 32).astype(np.int32), (addresses & 0xFFFFFFFF).astype(np.int32)
