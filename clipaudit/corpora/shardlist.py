"""Lists the shards of a corpus: the digest and the rows of each number."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

SHARDS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),  # position in the corpus's list of shards
        pa.field("sha256", pa.string(), nullable=False),  # of the tar
        pa.field("rows", pa.int32(), nullable=False),  # in the tar, dropped ones included
    ]
)


def list_shards(
    numbers: Sequence[int], digests: Sequence[str], rows: Mapping[int, int]
) -> pa.Table:
    """Return the SHARDS of a part, in the order given; a shard that `rows` lacks has 0 rows.

    >>> list_shards([4, 5], ["ab", "cd"], {4: 10}).to_pylist()[1]
    {'shard': 5, 'sha256': 'cd', 'rows': 0}
    """
    columns = [list(numbers), list(digests), [rows.get(number, 0) for number in numbers]]
    return pa.table(columns, schema=SHARDS)
