"""Draw images with their spotted text, captions and scores.

Lin et al., ECCV 2024, Figures 1, 2, 8, 14 and 15: https://arxiv.org/abs/2312.14232. Text that the
caption repeats is orange, other spotted text blue; in captions repeated words are also bold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from clipaudit.corpora.addresses import sample_address, sample_addresses
from clipaudit.parrot.reports.spotted_paper import (
    CO_COLOUR,
    GAP,
    MARGIN,
    TEXT_COLOUR,
    Outlines,
    caption_words,
    put_covered,
    put_outlined,
)
from clipaudit.parrot.reports.spotted_terms import TERMS, term_pictures, text_polygons
from clipaudit.parrot.spotted_options import ExampleList, SpottedOptions
from clipaudit.parrot.synthetic import Typeface
from clipaudit.parrot.tokens import tokens
from clipaudit.plaindata import Row
from clipaudit.reports.drawing import PALETTE, WIDTHS, style
from clipaudit.reports.flowing import LETTERS, LINE, Word, words_of
from clipaudit.reports.layouts import MINUS
from clipaudit.reports.paper import Lines, Paper, Picture, decoded, in_lines
from clipaudit.reports.shown_pictures import Pictures

WIDTH = WIDTHS["double"]
PAGE_HEIGHT = 9.2
LARGEST, SMALLEST = 1.5, 0.42  # limits of an image's side
COLUMNS = 4  # images beside each other, with their captions
NUMBERED_COLUMNS = 7  # images beside each other, without captions
CLUSTER_WIDTH = 0.95  # of a column: enough for the text above it
CAPTION_LINES = 5
RAW, ERASED = "S(·)", "S(\N{MULTIPLICATION SIGN})"  # as in Figure 8
DIGITS = 3  # of a score


def draw_spotted(
    table: pa.Table,
    texts: pa.Table,
    pictures: Pictures,
    typeface: Typeface,
    options: SpottedOptions,
) -> Figure:
    """Return the drawing of SPOTTED_EXAMPLES, whose EXAMPLE_TEXTS are `texts`.

    An empty list shows its message. `pictures` holds each image's file or uid; a uid is shown in
    place of the image and of all that derives from it. An image that cannot be decoded becomes a
    crossed box.
    """
    draw = {"captioned": _grid, "numbered": _grid, "clusters": _clusters, "terms": _terms}
    with style():
        found = draw[options.form](_Shown(table, texts, pictures, typeface, options))
    return found.figure


class _Shown:
    """The drawn examples by list, with the texts and image of each."""

    def __init__(
        self,
        table: pa.Table,
        texts: pa.Table,
        pictures: Pictures,
        typeface: Typeface,
        options: SpottedOptions,
    ) -> None:
        self.rows: list[Row] = table.to_pylist()
        self.typeface = typeface
        self.options = options
        self._texts = texts
        self._pictures = pictures
        keys = zip(texts["corpus"].to_pylist(), sample_addresses(texts).tolist(), strict=True)
        self._places = {key: place for place, key in enumerate(keys)}

    def lists(self) -> list[tuple[ExampleList, list[Row]]]:
        """Return each list of the options, with its rows."""
        of = {what: list(rows) for what, rows in groupby(self.rows, key=lambda row: row["what"])}
        return [(each, of.get(each.what, [])) for each in self.options.lists]

    def picture(self, row: Row) -> Picture:
        return decoded(self._pictures[_key(row)])

    def put(self, paper: Paper, row: Row, x: float, y: float, side: float) -> None:
        """Put the image of a row on paper, with its text outlined or covered."""
        put_it = put_covered if self.options.filled else put_outlined
        put_it(paper, self.picture(row), x, y, side, self._outlines(row))

    def _outlines(self, row: Row) -> Outlines:
        own = self._texts.slice(self._places[_key(row)], 1)
        polygons = text_polygons(own, row["co_words"], self.options.tokenization)
        return [(polygons["all"], TEXT_COLOUR), (polygons["co"], CO_COLOUR)]

    def terms(self, row: Row) -> Mapping[str, Picture]:
        """Return a row's images (or uids) by TERMS; none if its image cannot be decoded."""
        picture = self.picture(row)
        if picture is None:
            return {}
        if isinstance(picture, str):
            alone = row["donor_row"] is None
            return {term: picture for term in TERMS if not (alone and term == "random_all")}
        texts = self._texts.filter(pc.equal(self._texts["corpus"], row["corpus"]))
        assert self.options.terms is not None, "this form needs to know how text was erased"
        how, words = self.options.terms, self.options.tokenization
        return term_pictures(picture, row, texts, self.typeface, how, words)

    def caption(self, row: Row, width: float, lines: int) -> Lines:
        """Return a caption in lines; a whole word is marked if a part of it is co-embedded."""
        caption, co_words = row["caption"][:LETTERS], set(row["co_words"].split())
        parts = [tokens(word, self.options.tokenization) for word in caption.split()]
        flags = [not co_words.isdisjoint(part) for part in parts]
        return in_lines(caption_words(caption, flags), width, lines)


def _key(row: Row) -> tuple[str, int]:
    return row["corpus"], sample_address(int(row["shard"]), int(row["row"]))


# --- the forms -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Band:
    """A row of images, each with the lines of its caption; without images, a title alone."""

    head: Lines
    cells: Sequence[tuple[Row, Lines]]

    @property
    def below(self) -> float:
        """Return the height below the images: scores, captions, and a gap."""
        if not self.cells:
            return 0.0
        return (1 + max(len(caption) for _, caption in self.cells)) * LINE + GAP

    @property
    def above(self) -> float:
        """Return the height of the title and of a gap on each side of it."""
        return len(self.head) * LINE + 2 * GAP if self.head else 0.0


def _grid(shown: _Shown) -> Paper:
    """Draw images row by row, each list under its title."""
    captioned = shown.options.form == "captioned"
    columns = COLUMNS if captioned else NUMBERED_COLUMNS
    cell = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns
    bands = _bands(shown, columns, cell, CAPTION_LINES if captioned else 0)
    fixed = sum(band.above + band.below for band in bands)
    filled = sum(bool(band.cells) for band in bands)
    side = _side(cell, filled, fixed)
    paper = Paper(WIDTH, 2 * MARGIN + fixed + filled * side)
    y = MARGIN
    for band in bands:
        paper.lines(MARGIN, y + GAP, band.head)
        y += band.above
        for place, (row, caption) in enumerate(band.cells):
            x = MARGIN + place * (cell + GAP)
            shown.put(paper, row, x + (cell - side) / 2, y, side)
            paper.centred(x, y + side, cell, _scores(row, captioned=captioned))
            paper.lines(x, y + side + LINE, caption)
        y += (side if band.cells else 0) + band.below
    return paper


def _bands(shown: _Shown, columns: int, cell: float, lines: int) -> list[_Band]:
    found = []
    for asked, rows in shown.lists():
        cells = [(row, shown.caption(row, cell, lines) if lines else []) for row in rows]
        cut = [cells[at : at + columns] for at in range(0, len(cells), columns)] or [[]]
        heads = [_head(asked, rows), *([] for _ in cut[1:])]
        found += [_Band(head, band) for head, band in zip(heads, cut, strict=True)]
    return found


def _scores(row: Row, *, captioned: bool) -> list[Word]:
    """Return the scores of an image that its list shows."""
    raw = _printed(row["raw"])
    if not captioned:
        return [Word(f"{row['position'] + 1}", bold=True), Word(raw)]
    words = [Word(f"{RAW} {raw}")]
    if row["what"] in ("distracted", "dependent"):
        words.append(Word(f"{ERASED} {_printed(row['all'])}"))
    return words


def _clusters(shown: _Shown) -> Paper:
    """Draw a column of images for each cluster."""
    ((asked, rows),) = shown.lists()
    columns = [list(own) for _, own in groupby(rows, key=lambda row: row["cluster"])]
    head = _head(asked, rows)
    top = MARGIN + len(head) * LINE + GAP
    if not columns:
        paper = Paper(WIDTH, top)
        paper.lines(MARGIN, MARGIN, head)
        return paper
    cell = min((WIDTH - 2 * MARGIN + GAP) / len(columns) - GAP, CLUSTER_WIDTH)
    highest = max(map(len, columns))
    fixed = top + 2 * LINE + highest * (LINE + GAP)
    side = _side(cell, highest, fixed)
    paper = Paper(WIDTH, fixed + highest * side + MARGIN)
    paper.lines(MARGIN, MARGIN, head)
    for place, own in enumerate(columns):
        x = MARGIN + place * (cell + GAP)
        share = own[0]["cluster_with_text"] / own[0]["cluster_pictures"]
        paper.centred(x, top, cell, [Word(f"{own[0]['cluster']}", bold=True)])
        paper.centred(x, top + LINE, cell, [Word(f"{share:.0%} text", PALETTE["quiet"])])
        y = top + 2 * LINE + GAP / 2
        for row in own:
            shown.put(paper, row, x + (cell - side) / 2, y, side)
            paper.centred(x, y + side, cell, [Word(_printed(row["raw"]))])
            y += side + LINE + GAP
    return paper


def _terms(shown: _Shown) -> Paper:
    """Draw a row for each example: the image and those derived from it, its caption below."""
    ((asked, rows),) = shown.lists()
    side = (WIDTH - 2 * MARGIN - (len(TERMS) - 1) * GAP) / len(TERMS)
    x_of = {term: MARGIN + at * (side + GAP) for at, term in enumerate(TERMS)}
    head = _head(asked, rows)
    titles = [in_lines(words_of(title), side, 3) for title in TERMS.values()] if rows else []
    captions = [shown.caption(row, WIDTH - 2 * MARGIN, 2) for row in rows]
    highest = max(map(len, titles), default=0)
    top = MARGIN + (len(head) + highest) * LINE + GAP
    bands = sum(side + (1 + len(caption)) * LINE + 2 * GAP for caption in captions)
    paper = Paper(WIDTH, top + bands)
    y = paper.lines(MARGIN, MARGIN, head) + GAP / 2
    for x, title in zip(x_of.values(), titles, strict=False):
        paper.lines(x, y + (highest - len(title)) * LINE, title)
    y = top
    for number, (row, caption) in enumerate(zip(rows, captions, strict=True)):
        if number:
            paper.rule(y - GAP, MARGIN)
        _term_row(paper, shown, row, x_of, y, side)
        y = paper.lines(MARGIN, y + side + LINE, caption) + 2 * GAP
    return paper


def _term_row(
    paper: Paper, shown: _Shown, row: Row, x_of: Mapping[str, float], y: float, side: float
) -> None:
    """Draw an example's images with their scores, or a note if there is no random removal."""
    made = shown.terms(row)
    for term, x in x_of.items():
        if term == "random_all" and made and term not in made:
            note = words_of("no other image of the shard has text", PALETTE["quiet"])
            paper.lines(x, y, in_lines(note, side, 5))
            continue
        put_outlined(paper, made.get(term), x, y, side)
        if row.get(term) is not None:
            paper.centred(x, y + side, side, [Word(f"S {_printed(row[term])}")])


def _printed(score: float) -> str:
    """Format a score for printing below an image.

    >>> _printed(-0.25)
    '\N{MINUS SIGN}0.250'
    """
    return f"{score:.{DIGITS}f}".replace("-", MINUS)


def _side(cell: float, bands: int, fixed: float) -> float:
    """Return the side of images at which this many rows fit the page."""
    fitting = (PAGE_HEIGHT - 2 * MARGIN - fixed) / max(bands, 1)
    return min(max(fitting, SMALLEST), LARGEST, cell)


def _head(asked: ExampleList, rows: Sequence[Row]) -> Lines:
    """Return the title of a list, or its message if it is empty."""
    text = asked.title if rows else asked.empty
    words = [Word(word.text, bold=bool(rows)) for word in words_of(text)]
    return in_lines(words, WIDTH - 2 * MARGIN, 2)
