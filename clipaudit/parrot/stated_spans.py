"""The spotter `dataset`: the spans that the JSON of samples states."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from clipaudit.corpora.drops import Drops
from clipaudit.corpora.statements import is_finite, is_text, shown_value, stated_fields
from clipaudit.errors import InputError
from clipaudit.parrot.spans import Polygon, Span, Word, polygon_fault, spans_table
from clipaudit.parrot.spans_inside import spans_inside

_FORMS = (
    "a span is an object with a text, a polygon of three corners or more (flat or as pairs) or a "
    "bbox of left, top, width and height, an optional score, and optional words of the same form"
)


def read_spans(samples: pa.Table, *, field: str = "spans", drops: Drops) -> pa.Table:
    """Return the SPANS that the JSON of `samples` states in `field`, in the order stated.

    The samples have the columns shard, row, key, width, height and metadata, and ascend by (shard,
    row). An entry has a `text` and a place: a `polygon`, flat (x0, y0, x1, ...) or of pairs, or a
    `bbox` of left, top, width and height, all in pixels of the stored image. It may have a `score`
    from 0 to 1 (else 1.0), and `words`: a list of entries with text and place. A null counts as
    absent. A sample without JSON, or without the field, shows no text. Raises InputError for
    anything else. `spans_inside` checks the places, raises InputError, and adds samples to `drops`.
    """
    # few texts in memory at a time
    batches = samples.select(["shard", "row", "metadata"]).to_batches(max_chunksize=1024)
    found = spans_table(
        (shard, row, _spans(text, field, f"shard {shard}, row {row}"))
        for batch in batches
        for shard, row, text in zip(*(each.to_pylist() for each in batch.columns), strict=True)
    )
    return spans_inside(found, samples, drops=drops)


def _spans(text: str | None, field: str, place: str) -> list[Span]:
    fields = stated_fields(text, place)
    return [span_of_entry(entry, place) for entry in _list(fields.get(field), field, place)]


def span_of_entry(entry: Any, place: str) -> Span:  # noqa: ANN401
    """Return the span of an entry, as in `read_spans`; an InputError names `place`."""
    text, polygon = _text_and_polygon(entry, place)
    score = 1.0 if entry.get("score") is None else entry["score"]
    if not is_finite(score) or not 0 <= score <= 1:
        raise InputError(
            f"{place}: score is {shown_value(score)}: give the spotter's confidence as a share "
            "between 0 and 1, such as 0.87"
        )
    words = entry.get("words")
    if words is not None:
        stated = _list(words, "words", place)
        words = tuple(Word(*_text_and_polygon(word, place)) for word in stated)
    return Span(text, float(score), polygon, words)


def _text_and_polygon(entry: Any, place: str) -> tuple[str, Polygon]:  # noqa: ANN401
    if not isinstance(entry, dict):
        raise _malformed(place, "an entry", entry)
    text = entry.get("text")
    if not is_text(text):
        raise _malformed(place, "text", text)
    polygon = entry.get("polygon")
    if polygon is None:
        return text, _box_corners(entry.get("bbox"), place)
    if isinstance(polygon, list) and any(isinstance(corner, list) for corner in polygon):
        if not all(isinstance(corner, list) and len(corner) == 2 for corner in polygon):
            raise _malformed(place, "polygon", polygon)
        polygon = [number for corner in polygon for number in corner]
    if not isinstance(polygon, list) or not all(map(is_finite, polygon)):
        raise _malformed(place, "polygon", polygon)
    fault = polygon_fault(polygon)
    if fault:
        raise InputError(f"{place}: the polygon of {shown_value(text)} has {fault}: {_FORMS}")
    return text, tuple(map(float, polygon))


def _box_corners(box: Any, place: str) -> Polygon:  # noqa: ANN401
    """Return the corners of a box, clockwise from its top left.

    >>> _box_corners([10, 20, 5, 2], "shard 0, row 0")
    (10.0, 20.0, 15.0, 20.0, 15.0, 22.0, 10.0, 22.0)
    """
    if not (isinstance(box, list) and len(box) == 4 and all(map(is_finite, box))):
        raise _malformed(place, "bbox", box)
    left, top, width, height = map(float, box)
    right, bottom = left + width, top + height
    if width < 0 or height < 0 or not is_finite(right) or not is_finite(bottom):
        raise _malformed(place, "bbox", box)
    return (left, top, right, top, right, bottom, left, bottom)


def _list(value: Any, field: str, place: str) -> Sequence[Any]:  # noqa: ANN401
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{place}: {field} is {shown_value(value)}: make it a list of objects")
    return value


def _malformed(place: str, what: str, value: Any) -> InputError:  # noqa: ANN401
    return InputError(f"{place}: {what} is {shown_value(value)}: {_FORMS}")
