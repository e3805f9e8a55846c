"""Records which rows were left out and why, so that rows in = rows out + drops."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

DROPS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),  # in the tar, before any drop
        pa.field("key", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),  # "index", "embed", "annotate", ...
        pa.field("reason", pa.string(), nullable=False),  # a word of clipaudit.corpora.reasons
        pa.field("detail", pa.string(), nullable=False),  # for people; may be empty
    ]
)
_MAX_DETAIL = 300  # characters: a member name or a library's message may be arbitrarily long
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # differs between runs


@dataclass
class Drops:
    """Collects the dropped samples of one stage and one part, in the order met."""

    stage: str  # a word such as "index" or "embed"
    rows: list[tuple[int, int, str, str, str, str]] = field(default_factory=list)

    def __len__(self) -> int:
        """Return how many samples were dropped."""
        return len(self.rows)

    def add(self, shard: int, row: int, key: str, reason: str, detail: str = "") -> None:
        """Add one sample; `detail` is shortened, without text that changes between runs."""
        detail = _ADDRESS.sub("", detail.encode("utf-8", "backslashreplace").decode("utf-8"))
        self.rows.append((shard, row, key, self.stage, reason, detail[:_MAX_DETAIL]))

    def table(self) -> pa.Table:
        """Return the drops as a DROPS table."""
        return table_of_rows(self.rows, DROPS)


def table_of_rows(rows: Iterable[tuple[object, ...]], schema: pa.Schema) -> pa.Table:
    """Return tuples in the schema's column order as a table; no rows give an empty table."""
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [
        pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
