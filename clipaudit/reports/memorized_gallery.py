"""The most memorized samples as a picture: what each model finds by the caption of a picture.

Jayaraman et al., NeurIPS 2024, Figures 1, 11 and 12. As there, labels that the sample's own
picture holds are orange and others blue; a sign before each says the same without colour. Measures
are in inches in print, y grows downwards. Pictures are shrunk, never cut or stretched.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.memorization.examples import MODELS
from clipaudit.reports.drawing import (
    PALETTE,
    SERIES_COLOURS,
    SMALLEST_POINTS,
    WIDTHS,
    bare_figure,
    style,
)
from clipaudit.reports.flowing import (
    LINE,
    Placed,
    Word,
    printable,
    set_in_lines,
    width_of,
    words_of,
)
from clipaudit.reports.galleries import decimals

if TYPE_CHECKING:
    import matplotlib.figure

Row = Mapping[str, Any]
Pictures = Mapping[tuple[str, int], bytes]  # by (corpus, address): image files
Lines = Sequence[Sequence[Placed]]

BASELINE = 0.1  # of a line, below its upper end
FALSE_COLOUR, TRUE_COLOUR = SERIES_COLOURS[:2]  # blue and a reddish orange
TRUE, FALSE, MISSED = "✓", "✗", "·"
MARGIN, GAP = 0.05, 0.06
COLUMNS = 5  # public pictures of each model
CAPTION_LINES, OBJECT_LINES, LEGEND_LINES = 3, 2, 3
LARGEST, SMALLEST = 0.62, 0.46  # of a public picture's side; below, similarities would collide
OWN = 1.45  # of the side of a sample's own picture, at most
PAGE_HEIGHT = 9.2
PIXELS = 150  # of a picture, by an inch of its side
TITLES = {"target": "Trained on it", "reference": "Not trained on it"}


def draw_memorized(
    labels: pa.Table,
    neighbors: pa.Table,
    boxes: pa.Table,
    pictures: Pictures,
    options: Mapping[str, Any],
) -> "matplotlib.figure.Figure":
    """Return the drawing of EXAMPLES, EXAMPLE_NEIGHBORS and EXAMPLE_BOXES, a block an example.

    `options` are those of `MemorizedGallery.settings`: `public`, the corpus and title of the public
    pictures. `pictures` holds the image file of every picture of `shown_addresses`; one that cannot
    be decoded becomes a crossed box. Labels that the target model alone found are bold, and boxed
    in the sample's own picture where boxes are known. Without examples the figure says so.
    """
    with style():
        blocks = _blocks(labels, neighbors, boxes)
        if not blocks:
            return _empty(options)
        return _drawn(blocks, pictures, options["public"])


def shown_addresses(
    labels: pa.Table, neighbors: pa.Table, options: Mapping[str, Any]
) -> dict[str, set[int]]:
    """Return, by corpus, the addresses of all pictures that are drawn."""
    found: dict[str, set[int]] = {}
    for source, address in zip(
        labels["source"].to_pylist(), sample_addresses(labels).tolist(), strict=True
    ):
        found.setdefault(source, set()).add(address)
    near = neighbors.filter(pc.less(neighbors["place"], COLUMNS))
    public = sample_addresses(near, "public_shard", "public_row").tolist()
    found.setdefault(options["public"]["corpus"], set()).update(public)
    return found


# --- what is drawn -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Block:
    """An example: its rows of each table, those of labels and neighbours by model."""

    labels: Mapping[str, Sequence[Row]]
    neighbors: Mapping[str, Sequence[Row]]
    boxes: Sequence[Row]

    @property
    def own(self) -> Row:
        return self.labels["target"][0]

    @property
    def true(self) -> list[str]:
        """Return the names of the labels that the sample's own picture holds, by label."""
        rows = [row for row in self.labels["target"] if row["is_true"]]
        return [_name(row) for row in sorted(rows, key=itemgetter("label"))]

    @property
    def recovered(self) -> set[int]:
        """Return the true labels that the target model alone found."""
        target, reference = (
            {row["label"] for row in self.labels[model] if row["is_true"] and row["neighbors"]}
            for model in ("target", "reference")
        )
        return target - reference

    def words(self, model: str) -> list[Word]:
        """Return the labels that a model found, missed and found in error."""
        rows = self.labels[model]
        bold = self.recovered if model == "target" else set()
        found = [row for row in rows if row["is_true"] and row["neighbors"]]
        false = [row for row in rows if not row["is_true"]]
        missed = [row for row in rows if not row["neighbors"]]
        return [
            *(_word(TRUE, row, TRUE_COLOUR, bold=row["label"] in bold) for row in found),
            *(Word(f"{MISSED} {_name(row)}", PALETTE["quiet"]) for row in missed),
            *(_word(FALSE, row, FALSE_COLOUR) for row in false),
        ]

    def title(self, model: str) -> str:
        """Say how many of the true labels a model found."""
        found = sum(row["is_true"] and row["neighbors"] > 0 for row in self.labels[model])
        return f"{TITLES[model]}: finds {found} of {len(self.true)}"


def _word(sign: str, row: Row, colour: str, *, bold: bool = False) -> Word:
    return Word(f"{sign} {_name(row)} {row['neighbors']}", colour, bold)


def _name(row: Row) -> str:
    return printable(row["name"] or f"label {row['label']}")


def _blocks(labels: pa.Table, neighbors: pa.Table, boxes: pa.Table) -> list[_Block]:
    """Return the examples by rank."""
    of_label, of_neighbor, of_box = (
        _grouped(table.to_pylist(), "rank") for table in (labels, neighbors, boxes)
    )
    return [
        _Block(
            _grouped(rows, "model"),
            _grouped(of_neighbor.get(rank, []), "model"),
            of_box.get(rank, []),
        )
        for rank, rows in of_label.items()
    ]


def _grouped(rows: Iterable[Row], key: str) -> dict[Any, list[Row]]:
    """Return rows by the value of a column, the values in their first order."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[key], []).append(row)
    return found


# --- the layout ----------------------------------------------------------------------------------

WIDTH = WIDTHS["double"]


def _drawn(
    blocks: Sequence[_Block], pictures: Pictures, public: Mapping[str, str]
) -> "matplotlib.figure.Figure":
    legend = _legend(blocks, public)
    heads = [_head(number, block) for number, block in enumerate(blocks, start=1)]
    fixed = sum(len(lines) * LINE + 4 * GAP for lines in [legend, *heads])
    side = (PAGE_HEIGHT - 2 * MARGIN - fixed) / (2 * len(blocks)) - 2 * LINE - GAP
    side = min(max(side, SMALLEST), LARGEST)
    band = side + 2 * LINE + GAP
    height = 2 * MARGIN + fixed + 2 * band * len(blocks)
    paper = _Paper(WIDTH, height, pictures)
    y = paper.lines(MARGIN, MARGIN, legend) + GAP
    for block, head in zip(blocks, heads, strict=True):
        paper.rule(y)
        y = paper.lines(MARGIN, y + GAP, head) + GAP / 2
        _bands(paper, block, public["corpus"], y, side)
        y += 2 * band + GAP
    return paper.figure


def _bands(paper: "_Paper", block: _Block, public: str, y: float, side: float) -> None:
    """Draw an example's own picture, and beside it a band for each model."""
    band = side + 2 * LINE + GAP
    own = min(2 * band - 2 * GAP, OWN)
    row = block.own
    boxes = [box for box in block.boxes if box["label"] in block.recovered]
    paper.picture((row["source"], _address(row, "shard", "row")), MARGIN, y, own, boxes)
    start = MARGIN + own + 2 * GAP
    words = start + COLUMNS * (side + GAP) + GAP
    for position, model in enumerate(MODELS):
        top = y + position * band
        shown = block.neighbors.get(model, [])[:COLUMNS]
        places = decimals([[near["similarity"] for near in shown]])
        for near in shown:
            x = start + near["place"] * (side + GAP)
            address = _address(near, "public_shard", "public_row")
            paper.picture((public, address), x, top, side)
            paper.centred(x, top + side, side, [Word(f"{near['similarity']:.{places}f}")])
            paper.centred(x, top + side + LINE, side, _counts(near))
        title = set_in_lines(
            [Word(word.text, bold=True) for word in words_of(block.title(model))],
            WIDTH - MARGIN - words,
            lines=2,
            more=_dots,
        )
        text = set_in_lines(
            block.words(model),
            WIDTH - MARGIN - words,
            lines=int(band / LINE) - len(title),
            more=lambda left: Word(f"and {left} more", PALETTE["quiet"]),
        )
        paper.lines(words, top, [*title, *text])


def _counts(near: Row) -> list[Word]:
    """Say how many true and false labels a public picture shows."""
    true, false = len(near["true_labels"]), len(near["false_labels"])
    return [Word(f"{TRUE}{true}", TRUE_COLOUR), Word(f"{FALSE}{false}", FALSE_COLOUR)]


def _legend(blocks: Sequence[_Block], public: Mapping[str, str]) -> Lines:
    k = blocks[0].own["k"]
    boxes = (
        [
            Word("Boxes: these."),
        ]
        if any(block.boxes for block in blocks)
        else []
    )
    words = [
        *words_of(
            f"By a caption alone, models find the {k} nearest pictures of {public['title']}; the "
            f"first {min(k, COLUMNS)} are shown with their similarities. Their objects, each with "
            "the number of pictures that show it:"
        ),
        Word(f"{TRUE} also in the caption's own picture (true),", TRUE_COLOUR),
        Word("bold: found by the model trained on it alone;", TRUE_COLOUR, bold=True),
        *boxes,
        Word(f"{FALSE} not in it (false);", FALSE_COLOUR),
        Word(f"{MISSED} missed.", PALETTE["quiet"]),
    ]
    return set_in_lines(words, WIDTH - 2 * MARGIN, lines=LEGEND_LINES, more=_dots)


def _head(number: int, block: _Block) -> Lines:
    """Return the lines above an example: its caption, and the objects of its picture."""
    width = WIDTH - 2 * MARGIN
    caption = [Word(f"{number}", bold=True), *words_of(f"“{block.own['caption']}”")]
    objects = [Word("In the picture:", PALETTE["quiet"])]
    names = block.true
    objects += [Word(f"{name},") for name in names[:-1]] + [Word(names[-1])]
    return [
        *set_in_lines(caption, width, lines=CAPTION_LINES, more=_dots),
        *set_in_lines(
            objects, width, lines=OBJECT_LINES, more=lambda left: Word(f"and {left} more")
        ),
    ]


def _dots(left: int) -> Word:
    return Word("…")


def _address(row: Row, shard: str, number: str) -> int:
    return int(row[shard]) << 32 | int(row[number])


def _empty(options: Mapping[str, Any]) -> "matplotlib.figure.Figure":
    """Say that there is no example: a figure that is asked for is there."""
    title = options["public"]["title"]
    text = (
        f"No record: by no caption does the model that was trained on it find more objects in "
        f"{title} than the model that was not."
    )
    lines = set_in_lines(words_of(text), WIDTH - 2 * MARGIN, lines=3, more=_dots)
    paper = _Paper(WIDTH, 2 * MARGIN + LINE * (len(lines) + 1), {})
    paper.lines(MARGIN, MARGIN, lines)
    return paper.figure


# --- what is put on paper ------------------------------------------------------------------------


class _Paper:
    """A figure with one pair of axes in inches."""

    def __init__(self, width: float, height: float, pictures: Pictures) -> None:
        self.figure = bare_figure(width, height)
        self._axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._limits = (0, width), (height, 0)
        self._axes.set(xlim=self._limits[0], ylim=self._limits[1])
        self._pictures = pictures

    def picture(
        self, key: tuple[str, int], x: float, y: float, side: float, boxes: Sequence[Row] = ()
    ) -> None:
        """Put a picture, and boxes in it, into the middle of a square, (x, y) its upper left."""
        import numpy as np

        try:
            image = open_picture(self._pictures[key]).rgb
        except Unusable:
            self._crossed_box(x, y, side)
            return
        inch = side / max(image.size)  # of a pixel
        width, height = (inch * size for size in image.size)
        left, top = x + (side - width) / 2, y + (side - height) / 2
        image.thumbnail((round(PIXELS * side), round(PIXELS * side)))
        extent = (left, left + width, top + height, top)
        # nearest: of the tiny pictures of a demo one sees the pixels, as the model does
        self._axes.imshow(np.asarray(image), extent=extent, aspect="auto", interpolation="nearest")
        self._axes.set(xlim=self._limits[0], ylim=self._limits[1])  # imshow moves them
        for box in boxes:
            corner = left + inch * box["left"], top + inch * box["top"]
            self._outline(corner, inch * box["width"], inch * box["height"])

    def _outline(self, corner: tuple[float, float], width: float, height: float) -> None:
        from matplotlib.patches import Rectangle

        for colour, line in (("white", 2.4), (TRUE_COLOUR, 1.2)):  # seen on any picture
            self._axes.add_patch(
                Rectangle(corner, width, height, fill=False, edgecolor=colour, linewidth=line)
            )

    def _crossed_box(self, x: float, y: float, side: float) -> None:
        right, bottom = x + side, y + side
        outline = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y)]
        for points in (outline, [(x, y), (right, bottom)], [(x, bottom), (right, y)]):
            across, down = zip(*points, strict=True)
            self._axes.plot(across, down, color=PALETTE["quiet"], linewidth=0.6, label="unreadable")

    def rule(self, y: float) -> None:
        """Draw a line across the paper."""
        ends = [MARGIN, WIDTH - MARGIN]
        self._axes.plot(ends, [y, y], color=PALETTE["faint"], linewidth=0.6)

    def lines(self, x: float, y: float, lines: Lines) -> float:
        """Write lines, the first below y, and return where the last ends."""
        for number, line in enumerate(lines):
            for placed in line:
                self._text(x + placed.x, y + number * LINE, placed.word)
        return y + len(lines) * LINE

    def centred(self, x: float, y: float, side: float, words: Sequence[Word]) -> None:
        """Write words on one line below a picture."""
        at = x + (side - width_of(words)) / 2
        for placed in set_in_lines(words, 2 * WIDTH, lines=1, more=_dots)[0]:
            self._text(at + placed.x, y, placed.word)

    def _text(self, x: float, y: float, word: Word) -> None:
        self._axes.text(
            x,
            y + BASELINE,
            word.text,
            color=word.colour,
            fontsize=SMALLEST_POINTS,
            fontweight="bold" if word.bold else "normal",
            verticalalignment="baseline",
            parse_math=False,  # captions hold prices
        )
