"""Draw galleries on `paper`: test images, and beside each its nearest images."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.plaindata import Row
from clipaudit.reports.drawing import WIDTHS, style
from clipaudit.reports.gallery_options import NeighborOptions
from clipaudit.reports.paper import Paper, decoded, note, shown_text
from clipaudit.reports.shown_pictures import Pictures

THUMBNAIL = 112  # pixels of the longer side: enough for an image of three quarters of an inch
MARGIN, GAP = 0.04, 0.06
LINE = 0.125  # a line of the smallest text
TITLE, TITLE_LETTERS, TITLE_LINES = 0.88, 13, 4  # of the strip that names a row's set
QUERY = 0.8  # width of the strip of test images, for a name of TITLE_LETTERS
LARGEST, SMALLEST = 1.0, 0.42  # limits of an image's side; below, numbers would overlap
PAGE_HEIGHT = 9.2
JOIN = 0.36  # between a test image of the ladder and its neighbour


def draw_gallery(table: pa.Table, pictures: Pictures, options: NeighborOptions) -> Figure:
    """Return the drawing of a GALLERY.

    `pictures` holds each image file of the table, or a uid to show instead. An image that cannot be
    decoded becomes a crossed box. Without rows the figure says so.
    """
    with style():
        rows = _rows(table)
        if not rows:
            return _empty(options)
        draw = _ladder if options.form == "ladder" else _blocks
        return draw(rows, pictures, options)


def decimals(values: Sequence[Sequence[float]]) -> int:
    """Return the number of decimals, 2 to 4, that distinguishes neighbouring unequal values.

    >>> decimals([[0.91, 0.9, 0.9]]), decimals([[0.912, 0.911]]), decimals([[0.91234, 0.91233]])
    (2, 3, 4)
    """
    pairs = [pair for row in values for pair in pairwise(row) if pair[0] != pair[1]]
    for places in (2, 3):
        if all(f"{first:.{places}f}" != f"{second:.{places}f}" for first, second in pairs):
            return places
    return 4


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of GALLERY with the keys of their images."""
    own = sample_addresses(table, "test_shard", "test_row").tolist()
    near = sample_addresses(table).tolist()
    return [
        {**row, "query": (row["testset"], test), "neighbor": (row["corpus"], train)}
        for row, test, train in zip(table.to_pylist(), own, near, strict=True)
    ]


# --- the two forms -------------------------------------------------------------------------------


def _blocks(rows: Sequence[Row], pictures: Pictures, options: NeighborOptions) -> Figure:
    titles = {each.corpus: each.title for each in options.testsets}
    sets, columns = options.sets, options.columns
    blocks = [list(block) for _, block in groupby(rows, key=lambda row: row["block"])]
    side = _side(len(blocks), len(sets), columns)
    across, down = side + GAP, side + LINE + GAP  # from one image to the next
    strip = max(QUERY, side)
    title = MARGIN + strip + 2 * GAP
    first = title + TITLE
    # a block has the height of its rows, or of its test image above two lines
    block_height = max(len(sets) * down, side + 2 * LINE)
    tops = [MARGIN + number * (block_height + 2 * GAP) for number in range(len(blocks) + 1)]
    width, height = first + columns * across - GAP + MARGIN, tops[-1] - 2 * GAP + MARGIN
    sheet = _Sheet(width, height, pictures, side)
    places = decimals([values for block in blocks for values in _values(block)])
    for top, block in zip(tops, blocks, strict=False):
        if top > MARGIN:
            sheet.paper.rule(top - GAP, MARGIN)
        query, x = block[0], MARGIN + (strip - side) / 2
        at = top + (block_height - side - 2 * LINE) / 2
        sheet.picture(query["query"], x, at)
        sheet.below(x, at, titles[query["testset"]])
        for position, each in enumerate(sets):
            sheet.title(title, top + position * down, each.title)
        for row in block:
            x, y = first + row["place"] * across, top + row["set_position"] * down
            sheet.picture(row["neighbor"], x, y)
            sheet.below(x, y, f"{row['similarity']:.{places}f}")
    return sheet.paper.figure


def _side(blocks: int, sets: int, columns: int) -> float:
    """Return the side of an image that fits the page's width and height, within its limits."""
    wide = WIDTHS["double"] - 2 * MARGIN - QUERY - TITLE - (columns + 1) * GAP
    high = (PAGE_HEIGHT - 2 * MARGIN) / blocks - 2 * GAP
    fitting = min(wide / columns, high / sets - LINE - GAP)
    return min(max(fitting, SMALLEST), LARGEST)


def _ladder(rows: Sequence[Row], pictures: Pictures, options: NeighborOptions) -> Figure:
    (testset,), (searched,) = options.testsets, options.sets
    start = MARGIN + TITLE + GAP
    width = WIDTHS["double"]
    side = (width - start - MARGIN - GAP * (len(rows) - 1)) / len(rows)
    side = min(max(side, SMALLEST), LARGEST)
    width = max(width, start + len(rows) * (side + GAP) - GAP + MARGIN)
    below = MARGIN + side + JOIN
    sheet = _Sheet(width, below + side + MARGIN, pictures, side)
    sheet.title(MARGIN, MARGIN, testset.title)
    sheet.title(MARGIN, below, f"nearest in {searched.title}")
    places = decimals([[row["similarity"] for row in rows]])
    for number, row in enumerate(rows):
        x = start + number * (side + GAP)
        sheet.join(x, MARGIN + side, below, f"{row['similarity']:.{places}f}")
        sheet.picture(row["query"], x, MARGIN)
        sheet.picture(row["neighbor"], x, below)
    return sheet.paper.figure


def _empty(options: NeighborOptions) -> Figure:
    """Draw a note that no test image qualifies, since every requested figure must exist."""
    titles = ", ".join(each.title for each in options.testsets)
    what = "has a neighbor"
    if options.nearer is not None:
        near, far = (options.sets[position].title for position in options.nearer)
        what = f"is more similar to {near} than to {far}"
    return note(f"No image of {titles} {what}.")


def _values(block: Sequence[Row]) -> Iterator[list[float]]:
    """Yield the similarities of each row of images."""
    for _, shown in groupby(block, key=lambda row: row["set_position"]):
        yield [row["similarity"] for row in shown]


# --- the sheet -----------------------------------------------------------------------------------


class _Sheet:
    """Paper with images of one size, and words beside and below them."""

    def __init__(self, width: float, height: float, pictures: Pictures, side: float) -> None:
        self.paper = Paper(width, height)
        self._pictures = pictures
        self._side = side

    def picture(self, key: tuple[str, int], x: float, y: float) -> None:
        """Put an image in the middle of the square whose upper left corner is (x, y)."""
        self.paper.picture(decoded(self._pictures[key]), x, y, self._side, pixels=THUMBNAIL)

    def below(self, x: float, y: float, words: str) -> None:
        """Write a value, or a name in up to two lines, under the image at (x, y)."""
        self.paper.block(x + self._side / 2, y + self._side + 0.02, _wrapped(words, 2))

    def title(self, x: float, y: float, words: str) -> None:
        """Write the title of a row of images beside it, at height y."""
        self.paper.block(x, y + self._side / 2, _wrapped(words, TITLE_LINES), "left", "center")

    def join(self, x: float, top: float, bottom: float, words: str) -> None:
        """Join the image above `top` to the one below `bottom`, with words in the middle."""
        middle = x + self._side / 2
        height = (top + bottom) / 2
        for ends in ((top + 0.03, height - 0.07), (height + 0.07, bottom - 0.03)):
            self.paper.line([(middle, end) for end in ends])
        self.paper.block(middle, height, words, "center", "center")


def _wrapped(words: str, lines: int) -> str:
    """Return words in lines that fit beside or below an image.

    >>> _wrapped("glyph web without copies", 2)
    'glyph web\\nwithout …'
    """
    text = shown_text(words)
    return "\n".join(textwrap.wrap(text, TITLE_LETTERS, max_lines=lines, placeholder=" …"))
