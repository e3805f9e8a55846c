"""The tables of a curation's parts, one part at a time."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int32

from clipaudit.corpora.statements import is_finite
from clipaudit.parrot.criteria import CuratedPart
from clipaudit.parrot.filters import read_phrases

_ADDRESS = pa.schema(
    [pa.field("shard", pa.int32(), nullable=False), pa.field("row", pa.int32(), nullable=False)]
)


def read_parts(
    tables: Callable[[str], Iterator[pa.Table]],
    *,
    aesthetics_field: str | None,
    duplicates: pa.Table | None,
    given: Callable[[int, int], pa.Table] | None = None,
    words: Path | None = None,
) -> Iterator[CuratedPart]:
    """Yield the parts of a curation; `tables` gives the parts of an input by its name, in order.

    Inputs are base and matches, and optionally scores and samples. `aesthetics_field` needs
    samples, whose JSON holds aesthetics scores in this field; otherwise `given` returns the
    AESTHETICS of a range of shards, including the last one. `duplicates` are those of all parts, of
    which each gets its own; `words` is the file for the kind `text`.
    """
    repeated = None if duplicates is None else duplicates.sort_by("shard").combine_chunks()
    scores, samples = tables("scores"), tables("samples")
    phrases = None if words is None else read_phrases(words)
    for base, matches in zip(tables("base"), tables("matches"), strict=True):
        own, aesthetics = next(samples, None), None
        shards = base["shard"].to_numpy()
        first, last = (int(shards.min()), int(shards.max())) if len(shards) else (0, 0)
        if given is not None:
            aesthetics = given(first, last)
        if aesthetics_field is not None:
            assert own is not None, "the workflow gives the samples whose JSON is asked"
            aesthetics = stated_aesthetics(own, aesthetics_field)
        repeats = None if repeated is None else _of_shards(repeated, shards)
        yield CuratedPart(base, matches, next(scores, None), aesthetics, repeats, own, phrases)


def _of_shards(ordered: pa.Table, shards: Int32[np.ndarray, " n"]) -> pa.Table:
    """Return the rows from the first to the last of these shards, of a table ordered by shard."""
    if not len(shards):
        return ordered.slice(0, 0)
    ends = [shards.min(), shards.max() + 1]
    start, end = np.searchsorted(ordered["shard"].to_numpy(), ends).tolist()
    return ordered.slice(start, end - start)


def above_threshold(duplicates: Iterable[pa.Table], threshold: float) -> pa.Table:
    """Return shard and row of the samples of DUPLICATES removed at this threshold."""
    found = [
        table.filter(pc.greater(table["similarity"], threshold))
        .select(_ADDRESS.names)
        .cast(_ADDRESS)
        for table in duplicates
    ]
    return pa.concat_tables([_ADDRESS.empty_table(), *found])


AESTHETICS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("aesthetics", pa.float64()),  # null: the sample states no finite number
    ]
)


def stated_aesthetics(samples: pa.Table, field: str) -> pa.Table:
    """Return the AESTHETICS of SAMPLES: the number under `field` in each one's JSON, in order.

    A value that is not a finite number is null; such a sample is left out, with that reason. Lin et
    al., 2023, Sec. 8 (https://arxiv.org/abs/2312.14232) keep samples for which LAION's predictor
    gives more than 4.5 (by the README; the paper prints 0.45).
    """
    scores = [_number(text, field) for text in samples["metadata"].to_pylist()]
    columns = {"shard": samples["shard"], "row": samples["row"], "aesthetics": scores}
    return pa.table(columns, schema=AESTHETICS)


def _number(text: str | None, field: str) -> float | None:
    """Return the number under a field of a JSON text, which the index has checked.

    >>> _number('{"aesthetic": 5}', "aesthetic"), _number('{"aesthetic": true}', "aesthetic")
    (5.0, None)
    """
    value = json.loads(text).get(field) if text else None
    return float(value) if is_finite(value) else None
