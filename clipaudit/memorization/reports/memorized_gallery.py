"""Draw the most memorized samples: the objects that each model finds by the caption of an image.

Jayaraman et al., NeurIPS 2024, Figures 1, 11 and 12. As in the paper, labels in the sample's own
image are orange and others blue; a sign before each says the same without colour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from clipaudit.corpora.addresses import sample_address, sample_addresses
from clipaudit.memorization.examples import MODELS, SHARES
from clipaudit.plaindata import Row
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, WIDTHS, style
from clipaudit.reports.flowing import LINE, Word, set_in_lines, words_of
from clipaudit.reports.gallery_options import ShownSet
from clipaudit.reports.panels import by
from clipaudit.reports.paper import Lines, Paper, Spot, decoded, in_lines, note, shown_text
from clipaudit.reports.shown_pictures import Pictures

FALSE_COLOUR, TRUE_COLOUR = SERIES_COLOURS[:2]  # blue and a reddish orange
TRUE, FALSE, MISSED = "✓", "✗", "·"
MARGIN, GAP = 0.05, 0.06
DECIMALS = 3  # of every similarity
COLUMNS = 5  # public images of each model
CAPTION_LINES, OBJECT_LINES, LEGEND_LINES = 3, 2, 3
LARGEST, SMALLEST = 0.62, 0.46  # limits of a public image's side; similarities would overlap below
OWN = 1.45  # limit of the side of a sample's own image
PAGE_HEIGHT = 9.2
TITLES = {"target": "Trained on it", "reference": "Not trained on it"}


def draw_memorized(
    labels: pa.Table,
    neighbors: pa.Table,
    boxes: pa.Table,
    pictures: Pictures,
    public: ShownSet,
) -> Figure:
    """Return the drawing of EXAMPLES, EXAMPLE_NEIGHBORS and EXAMPLE_BOXES, one block per example.

    `public` is the set of the public images. `pictures` holds each image file of `shown_addresses`,
    or a uid to show instead; an image that cannot be decoded becomes a crossed box. Labels that
    only the target model found are bold, and boxed in the sample's own image if it is shown and
    boxes are given. Without examples the figure says so.
    """
    with style():
        blocks = _blocks(labels, neighbors, boxes)
        if not blocks:
            return _empty(public)
        return _drawn(blocks, pictures, public)


def shown_addresses(labels: pa.Table, neighbors: pa.Table, public: ShownSet) -> dict[str, set[int]]:
    """Return, by corpus, the addresses of all images to draw."""
    found: dict[str, set[int]] = {}
    for source, address in zip(
        labels["source"].to_pylist(), sample_addresses(labels).tolist(), strict=True
    ):
        found.setdefault(source, set()).add(address)
    near = neighbors.filter(pc.less(neighbors["place"], COLUMNS))
    shown = sample_addresses(near, "public_shard", "public_row").tolist()
    found.setdefault(public.corpus, set()).update(shown)
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
        """Return the names of the labels of the sample's own image, by label."""
        rows = [row for row in self.labels["target"] if row["is_true"]]
        return [_name(row) for row in sorted(rows, key=itemgetter("label"))]

    @property
    def recovered(self) -> set[int]:
        """Return the true labels that only the target model found."""
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

    @property
    def as_large(self) -> str:
        """Return a phrase with the shares of A and of the hold-out that have so large a gap."""
        members, unseen = (self.own[name] for name in SHARES)
        of_holdout = "" if unseen is None else f", {100 * unseen:.1f} % of the hold-out"
        return f"So much more: {100 * members:.1f} % of A{of_holdout}"

    def title(self, model: str) -> str:
        """Return a phrase with the number of true labels that a model found."""
        found = sum(row["is_true"] and row["neighbors"] > 0 for row in self.labels[model])
        return f"{TITLES[model]}: finds {found} of {len(self.true)}"


def _word(sign: str, row: Row, colour: str, *, bold: bool = False) -> Word:
    return Word(f"{sign} {_name(row)} {row['neighbors']}", colour, bold)


def _name(row: Row) -> str:
    return shown_text(row["name"] or f"label {row['label']}")


def _blocks(labels: pa.Table, neighbors: pa.Table, boxes: pa.Table) -> list[_Block]:
    """Return the examples by rank."""
    of_label, of_neighbor, of_box = (
        by(table.to_pylist(), "rank") for table in (labels, neighbors, boxes)
    )
    return [
        _Block(
            by(rows, "model"),
            by(of_neighbor.get(rank, []), "model"),
            of_box.get(rank, []),
        )
        for rank, rows in of_label.items()
    ]


# --- the layout ----------------------------------------------------------------------------------

WIDTH = WIDTHS["double"]


def _drawn(blocks: Sequence[_Block], pictures: Pictures, public: ShownSet) -> Figure:
    boxed = any(block.boxes and isinstance(pictures[_own_key(block)], bytes) for block in blocks)
    legend = _legend(blocks[0].own["k"], public.title, boxed=boxed)
    heads = [_head(number, block) for number, block in enumerate(blocks, start=1)]
    fixed = sum(len(lines) * LINE + 4 * GAP for lines in [legend, *heads])
    side = (PAGE_HEIGHT - 2 * MARGIN - fixed) / (2 * len(blocks)) - 2 * LINE - GAP
    side = min(max(side, SMALLEST), LARGEST)
    band = side + 2 * LINE + GAP
    height = 2 * MARGIN + fixed + 2 * band * len(blocks)
    paper = Paper(WIDTH, height)
    y = paper.lines(MARGIN, MARGIN, legend) + GAP
    for block, head in zip(blocks, heads, strict=True):
        paper.rule(y, MARGIN)
        y = paper.lines(MARGIN, y + GAP, head) + GAP / 2
        _bands(paper, block, pictures, public.corpus, y, side)
        y += 2 * band + GAP
    return paper.figure


def _bands(
    paper: Paper, block: _Block, pictures: Pictures, public: str, y: float, side: float
) -> None:
    """Draw an example's own image, and beside it a band for each model."""
    band = side + 2 * LINE + GAP
    own = min(2 * band - 2 * GAP, OWN)
    picture = decoded(pictures[_own_key(block)])
    spot = paper.picture(picture, MARGIN, y, own)
    if spot is not None:
        for box in block.boxes:
            if box["label"] in block.recovered:
                _box(paper, spot, box)
    start = MARGIN + own + 2 * GAP
    words = start + COLUMNS * (side + GAP) + GAP
    for position, model in enumerate(MODELS):
        top = y + position * band
        shown = block.neighbors.get(model, [])[:COLUMNS]
        for near in shown:
            x = start + near["place"] * (side + GAP)
            address = _address(near, "public_shard", "public_row")
            paper.picture(decoded(pictures[public, address]), x, top, side)
            paper.centred(x, top + side, side, [Word(f"{near['similarity']:.{DECIMALS}f}")])
            counts = [
                Word(f"{TRUE}{len(near['true_labels'])}", TRUE_COLOUR),
                Word(f"{FALSE}{len(near['false_labels'])}", FALSE_COLOUR),
            ]
            paper.centred(x, top + side + LINE, side, counts)
        title = in_lines(
            [Word(word.text, bold=True) for word in words_of(block.title(model))],
            WIDTH - MARGIN - words,
            2,
        )
        text = set_in_lines(
            block.words(model),
            WIDTH - MARGIN - words,
            lines=int(band / LINE) - len(title),
            more=lambda left: Word(f"and {left} more", PALETTE["quiet"]),
        )
        paper.lines(words, top, [*title, *text])


def _box(paper: Paper, spot: Spot, box: Row) -> None:
    """Draw a box, given in pixels, on an image."""
    corner = spot.on_paper(np.array([box["left"], box["top"]]))
    size = spot.inch * np.array([box["width"], box["height"]])
    corners = corner + size * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    paper.outline(corners, TRUE_COLOUR, lines=(2.4, 1.2))


def _legend(k: int, title: str, *, boxed: bool) -> Lines:
    words = [
        *words_of(
            f"By the caption alone, models find the {k} nearest images of {title}; the "
            f"first {min(k, COLUMNS)} are shown with their similarities. Their objects, each with "
            "the number of images that show it:"
        ),
        Word(f"{TRUE} also in the caption's own image (true),", TRUE_COLOUR),
        Word("bold: found only by the model trained on it;", TRUE_COLOUR, bold=True),
        *([Word("Boxes: these.")] if boxed else []),
        Word(f"{FALSE} not in it (false);", FALSE_COLOUR),
        Word(f"{MISSED} missed.", PALETTE["quiet"]),
    ]
    return in_lines(words, WIDTH - 2 * MARGIN, LEGEND_LINES)


def _head(number: int, block: _Block) -> Lines:
    """Return the lines above an example: its caption, its objects, the rarity of its gap."""
    width = WIDTH - 2 * MARGIN
    caption = [Word(f"{number}", bold=True), *words_of(f"“{shown_text(block.own['caption'])}”")]
    objects = [Word("In the image:", PALETTE["quiet"])]
    names = block.true
    objects += [Word(f"{name},") for name in names[:-1]] + [Word(names[-1])]
    return [
        *in_lines(caption, width, CAPTION_LINES),
        *set_in_lines(
            objects, width, lines=OBJECT_LINES, more=lambda left: Word(f"and {left} more")
        ),
        *in_lines([Word(block.as_large, PALETTE["quiet"])], width, 1),
    ]


def _own_key(block: _Block) -> tuple[str, int]:
    """Return the key of an example's own image."""
    return block.own["source"], _address(block.own, "shard", "row")


def _address(row: Row, shard: str, number: str) -> int:
    return sample_address(int(row[shard]), int(row[number]))


def _empty(public: ShownSet) -> Figure:
    """Draw a note that there is no example, since every requested figure must exist."""
    return note(
        "No record: for no caption does the model trained on it find more objects in "
        f"{public.title} than the other model."
    )
