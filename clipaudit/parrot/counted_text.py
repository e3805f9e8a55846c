"""Decide which of the spotted pieces of text count; a change reads no image again.

Spotters also read letters in drawings: a single glyph, a few doubtful strokes. docs/evidence.md
reports what the defaults find and what they get wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from clipaudit.parrot.spans import SPAN_LIST, SPANS
from clipaudit.parrot.unicode_scripts import script_of


@dataclass(frozen=True)
class Counted:
    """The conditions for a piece of text to count: see `parrot.text` in the settings.

    `scripts` are those whose letters count; () means all.
    """

    score: float
    letters: int
    height: float
    scripts: tuple[str, ...] = ()


def counted_text(readings: pa.Table, counted: Counted) -> pa.Table:
    """Return SPANS with only the pieces of text that count, in their order; all rows stay.

    A piece counts if its score is at least `score`, rounded to float32 as scores are, if it has
    enough letters of the scripts, and if its polygon is high enough, measured as its area divided
    by its longest side. Digits are not letters.
    """
    spans = [_counted(chunk, counted) for chunk in readings["spans"].chunks]
    columns = [readings["shard"], readings["row"], pa.chunked_array(spans, SPAN_LIST)]
    return pa.Table.from_arrays(columns, schema=SPANS)


def letters_in(text: str, scripts: Sequence[str] = ()) -> int:
    """Count the letters of some scripts, or of all, in a text.

    >>> letters_in("米 50 km", ["Latin"]), letters_in("米 50 km"), letters_in("2012")
    (2, 3, 0)
    """
    letters = (character for character in text if character.isalpha())
    return sum(not scripts or script_of(letter) in scripts for letter in letters)


def _counted(lists: pa.ListArray, counted: Counted) -> pa.ListArray:
    spans = lists.flatten()
    counts = _scores(spans) >= np.float32(counted.score)
    if counted.letters:
        texts = spans.field("text").to_pylist()
        counts &= np.array(
            [letters_in(text, counted.scripts) >= counted.letters for text in texts], bool
        )
    if counted.height > 0:
        polygons = spans.field("polygon").to_pylist()
        counts &= np.array([_height(polygon) >= counted.height for polygon in polygons], bool)
    lengths = np.asarray(lists.value_lengths(), np.int64)
    pictures = np.repeat(np.arange(len(lists)), lengths)
    kept: Int64[np.ndarray, " n"] = np.bincount(pictures[counts], minlength=len(lists))
    offsets = pa.array(np.concatenate([[0], np.cumsum(kept)]), pa.int32())
    return pa.ListArray.from_arrays(offsets, spans.filter(pa.array(counts)), type=SPAN_LIST)


def _scores(spans: pa.StructArray) -> np.ndarray:
    scores: np.ndarray = spans.field("score").to_numpy(zero_copy_only=False)
    return scores


def _height(polygon: Sequence[float]) -> float:
    """Return a polygon's area divided by its longest side, in pixels; 0 for a point."""
    corners = np.array(polygon, np.float64).reshape(-1, 2)
    after = np.roll(corners, -1, axis=0)
    area = abs(float((corners[:, 0] * after[:, 1] - corners[:, 1] * after[:, 0]).sum())) / 2
    longest = float(np.linalg.norm(after - corners, axis=1).max())
    return area / longest if longest > 0 else 0.0
