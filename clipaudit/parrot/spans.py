"""Spans: the pieces of text that a spotter found in images, and their table."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from clipaudit.corpora.addresses import sample_addresses

_POLYGON = pa.list_(pa.field("coordinate", pa.float32(), nullable=False))
_WORD = pa.struct(
    [
        pa.field("text", pa.string(), nullable=False),
        pa.field("polygon", _POLYGON, nullable=False),
    ]
)
_SPAN = pa.struct(
    [
        pa.field("text", pa.string(), nullable=False),
        pa.field("score", pa.float32(), nullable=False),  # 1.0 if a dataset states none
        # x0, y0, x1, y1, ... of three corners or more, in pixels of the stored image
        pa.field("polygon", _POLYGON, nullable=False),
        # null: the spotter gives no words of this span, or no reliable ones
        pa.field("words", pa.list_(pa.field("word", _WORD, nullable=False))),
    ]
)
SPAN_LIST = pa.list_(pa.field("span", _SPAN, nullable=False))

# One row per image, with text or without, by (shard, row). Spans are in reading order, as far as
# their spotter knows it.
SPANS = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("spans", SPAN_LIST, nullable=False),
    ]
)

_MIN_CORNERS = 3
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_ROWS_AT_ONCE = 1024  # of a table that becomes Python objects: memory, never results

Polygon = tuple[float, ...]


class Word(NamedTuple):
    """A word of a span, with its polygon as in `Span`."""

    text: str
    polygon: Polygon


class Span(NamedTuple):
    """One spotted piece of text, mostly a line; `score` is the spotter's confidence, 0 to 1.

    `polygon` is x0, y0, x1, y1, ... of three corners or more, in pixels of the stored image.
    `words` is None if the spotter gives no words.
    """

    text: str
    score: float
    polygon: Polygon
    words: tuple[Word, ...] | None = None


def polygon_fault(polygon: Sequence[float]) -> str | None:
    """Return the fault of a polygon's flat coordinates, or None.

    >>> polygon_fault([0, 0, 9, 0, 9, 9]), polygon_fault([0, 0, 9])
    (None, '3 coordinates, which is odd')
    """
    if len(polygon) % 2:
        return f"{len(polygon)} coordinates, which is odd"
    if len(polygon) < 2 * _MIN_CORNERS:
        return f"{len(polygon) // 2} corners, at least {_MIN_CORNERS} are needed"
    for coordinate in polygon:
        if not (math.isfinite(coordinate) and abs(coordinate) <= _FLOAT32_MAX):
            return f"a coordinate of {coordinate}"
    return None


def spans_table(rows: Iterable[tuple[int, int, Sequence[Span]]]) -> pa.Table:
    """Return (shard, row, spans) of images, ascending by (shard, row), as SPANS.

    Numbers are rounded to float32. Without rows the table is empty. A polygon that `polygon_fault`
    refuses is a bug of the spotter and raises ValueError.
    """
    rows = list(rows)
    addresses = [pa.array([row[at] for row in rows], pa.int32()) for at in (0, 1)]
    spans = span_array(row[2] for row in rows)
    table = pa.Table.from_arrays([*addresses, spans], schema=SPANS)
    assert np.all(np.diff(sample_addresses(table)) > 0), "images come sorted by (shard, row)"
    return table


def spans_of(table: pa.Table) -> Iterator[list[Span]]:
    """Yield the spans of each row of SPANS, in order, with few rows as Python objects at a time."""
    for batch in table.select(["spans"]).to_batches(max_chunksize=_ROWS_AT_ONCE):
        yield from map(_spans, batch.column(0).to_pylist())


def pictures_without_text(table: pa.Table) -> int:
    """Return the number of rows of SPANS without a span."""
    lengths = [np.diff(chunk.offsets.to_numpy()) for chunk in table["spans"].chunks]
    return sum(int(np.count_nonzero(each == 0)) for each in lengths)


def span_array(lists: Iterable[Sequence[Span]]) -> pa.Array:
    """Return the spans of images as the column `spans` of SPANS; raises as `spans_table`."""
    return pa.array([[_span_fields(span) for span in spans] for spans in lists], SPAN_LIST)


def _span_fields(span: Span) -> dict[str, object]:
    words = span.words
    return {
        "text": span.text,
        "score": span.score,
        "polygon": _checked(span.polygon, span.text),
        "words": None
        if words is None
        else [{"text": word.text, "polygon": _checked(word.polygon, word.text)} for word in words],
    }


def _checked(polygon: Polygon, text: str) -> list[float]:
    fault = polygon_fault(polygon)
    if fault:
        raise ValueError(f"the polygon of {text!r} has {fault}")
    return [coordinate + 0.0 for coordinate in polygon]  # no -0: equal tables have equal bytes


def _spans(fields: list[dict[str, Any]]) -> list[Span]:
    return [
        Span(
            entry["text"],
            entry["score"],
            tuple(entry["polygon"]),
            None
            if entry["words"] is None
            else tuple(Word(word["text"], tuple(word["polygon"])) for word in entry["words"]),
        )
        for entry in fields
    ]
