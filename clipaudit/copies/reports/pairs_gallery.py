"""Draws pairs of images side by side, with how each was found and what its pixels show.

Measures are in inches in print, y grows downwards.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from clipaudit.copies.pair_options import PairOptions
from clipaudit.corpora.addresses import sample_address
from clipaudit.plaindata import Row
from clipaudit.reports.drawing import PALETTE, WIDTHS, style
from clipaudit.reports.flowing import LINE, Word, words_of
from clipaudit.reports.paper import Paper, decoded, in_lines, note, shown_text
from clipaudit.reports.shown_pictures import Pictures

if TYPE_CHECKING:
    import matplotlib.figure

WIDTH = WIDTHS["double"]
COLUMNS = 3  # pairs beside each other
MARGIN, GAP, WITHIN = 0.04, 0.16, 0.04  # around, between pairs, between the images of a pair
SIDE = ((WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS - WITHIN) / 2
WORDS = 4 * LINE  # the text below a pair
THUMBNAIL = 160  # pixels of an image's longer side


def draw_pairs(
    table: pa.Table, pictures: Pictures, options: PairOptions
) -> "matplotlib.figure.Figure":
    """Return the drawing of SHOWN_PAIRS, three beside each other.

    The image that was searched for is on the left of each pair. `pictures` holds the image file
    of each image, or its uid. Without pairs, the figure says so.
    """
    rows = table.to_pylist()
    with style():
        if not rows:
            return _empty(options)
        bands = -(-len(rows) // COLUMNS)
        paper = Paper(WIDTH, 2 * MARGIN + bands * (SIDE + WORDS) + (bands - 1) * GAP)
        for number, row in enumerate(rows):
            x = MARGIN + number % COLUMNS * (2 * SIDE + WITHIN + GAP)
            y = MARGIN + number // COLUMNS * (SIDE + WORDS + GAP)
            _pair(paper, row, pictures, options, x, y)
        return paper.figure


def _pair(
    paper: Paper, row: Row, pictures: Pictures, options: PairOptions, x: float, y: float
) -> None:
    other = options.other, sample_address(row["other_shard"], row["other_row"])
    own = options.corpus, sample_address(row["shard"], row["row"])
    for at, key in ((x, other), (x + SIDE + WITHIN, own)):
        shown = decoded(pictures[key], as_shown=True)  # as copies are judged
        spot = paper.picture(shown, at, y, SIDE, pixels=THUMBNAIL)
        if spot is not None:
            paper.frame(spot)
    width = 2 * SIDE + WITHIN
    heads = [Word(word.text, bold=True) for word in words_of(shown_text(_kind(row)))]
    below = paper.lines(x, y + SIDE + WITHIN, in_lines(heads, width, 1))
    for text in (_places(row, options), _numbers(row)):
        words = words_of(shown_text(text), PALETTE["quiet"])
        below = paper.lines(x, below, in_lines(words, width, 1))


def _kind(row: Row) -> str:
    return f"{row['kind']}: {row['edits']}" if row["edits"] else str(row["kind"])


def _places(row: Row, options: PairOptions) -> str:
    return (
        f"{options.other} {row['other_shard']}:{row['other_row']}, "
        f"{options.corpus} {row['shard']}:{row['row']}"
    )


def _numbers(row: Row) -> str:
    """Return the numbers by which a pair was found and decided."""
    found: Sequence[str] = [
        f"{row['distance']} of 256 bits differ" if row["distance"] is not None else "",
        f"similarity {row['similarity']:.3f}" if row["similarity"] is not None else "",
        f"{row['agreement']:.0%} agrees" if row["agreement"] is not None else "",
    ]
    return ", ".join(each for each in found if each)


def _empty(options: PairOptions) -> "matplotlib.figure.Figure":
    """Return a figure that says there is no pair."""
    what = "no copy" if options.which == "copies" else "no lookalike"
    where = "" if options.other == options.corpus else f" of an image of {options.other_title}"
    return note(f"There is {what}{where} in {options.title}.")
