"""A column of more text than one Arrow array of strings holds, which takes no memory."""

import numpy as np
import pyarrow as pa

LENGTH = 2**30 + 1  # bytes; two are above 2 GiB


def long_texts(rows: int) -> pa.ChunkedArray:
    """Return texts of which the first and the last are long and share their zeros."""
    zeros = pa.py_buffer(np.zeros(LENGTH, np.uint8))  # never written, so without memory
    first = pa.py_buffer(np.array([0] + [LENGTH] * (rows - 1), np.int32))
    last = pa.py_buffer(np.array([0, LENGTH], np.int32))
    chunks = [pa.StringArray.from_buffers(rows - 1, first, zeros)]
    return pa.chunked_array([*chunks, pa.StringArray.from_buffers(1, last, zeros)])
