"""Records which rows were left out and why, so that rows in = rows out + drops."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from clipaudit.errors import InputError
from clipaudit.plaintext import plain

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)

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


def refuse_only_unusable(
    tables: Iterable[Rows], drops: Drops, reason: str, *, of: str
) -> Iterator[Rows]:
    """Yield the `tables` of a part; raise InputError at their end if `reason` dropped all rows.

    Single samples whose numbers are not finite are drops. If all are, the weights `of` the model
    are damaged, and no drop is about an image.
    """
    rows = 0
    for table in tables:
        rows += len(table)
        yield table
    lost = [row for row in drops.rows if row[4] == reason]
    if lost and not rows:
        shard, row, key = lost[0][:3]
        raise InputError(
            f"{reason} for all {len(lost)} samples, first shard {shard}, row {row}, key "
            f"{plain(key)!r}: check the weights of {of}"
        )
