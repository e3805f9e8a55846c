"""The tables of a curation's parts, one part at a time."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.parrot.aesthetics import stated_aesthetics
from clipaudit.parrot.criteria import Part

_ADDRESS = pa.schema(
    [pa.field("shard", pa.int32(), nullable=False), pa.field("row", pa.int32(), nullable=False)]
)


def read_parts(
    tables: Callable[[str], Iterator[pa.Table]],
    *,
    aesthetics_field: str | None,
    duplicates: pa.Table | None,
) -> Iterator[Part]:
    """Yield the parts of a curation; `tables` gives the parts of an input by its name, in order.

    Inputs are base and matches, and, where they are given, scores and samples, whose JSON holds
    aesthetics scores in `aesthetics_field`. `duplicates` are those of all parts.
    """
    scores, samples = tables("scores"), tables("samples")
    for base, matches in zip(tables("base"), tables("matches"), strict=True):
        aesthetics = None
        if aesthetics_field is not None:
            aesthetics = stated_aesthetics(next(samples), aesthetics_field)
        yield Part(base, matches, next(scores, None), aesthetics, duplicates)


def above_threshold(duplicates: Iterable[pa.Table], threshold: float) -> pa.Table:
    """Return shard and row of the samples of DUPLICATES that leave at this threshold."""
    found = [
        table.filter(pc.greater(table["similarity"], threshold))
        .select(_ADDRESS.names)
        .cast(_ADDRESS)
        for table in duplicates
    ]
    return pa.concat_tables([_ADDRESS.empty_table(), *found])
