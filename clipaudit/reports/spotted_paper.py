"""A page of pictures with the text that was spotted in them outlined, and words below.

Measures are in inches in print, y grows downwards. Pictures are shrunk, never cut or stretched.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.parrot.spans import Polygon
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, SMALLEST_POINTS, bare_figure
from clipaudit.reports.flowing import LINE, Placed, Word, printable, set_in_lines, width_of

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    from matplotlib.patches import Patch

MARGIN, GAP = 0.05, 0.08
BASELINE = 0.1  # of a line, below its upper end
PIXELS = 150  # of a picture, by an inch of its side
CO_COLOUR = SERIES_COLOURS[1]  # a reddish orange: what the caption says too
TEXT_COLOUR = SERIES_COLOURS[0]  # blue: other text

FARTHEST = 1 << 20  # pixels: far outside of any picture, and what Pillow still draws
COVER = 0.55  # opacity of what covers text

Outlines = Sequence[tuple[Sequence[Polygon], str]]  # polygons in pixels, and their colour
Lines = Sequence[Sequence[Placed]]


def decoded(data: bytes) -> Image.Image | None:
    """Return an image file's picture; None: it cannot be decoded."""
    try:
        return open_picture(data).rgb
    except Unusable:
        return None


class Paper:
    """A figure with one pair of axes in inches. To be made within `style()`."""

    def __init__(self, width: float, height: float) -> None:
        """Open a blank page."""
        self.figure = bare_figure(width, height)
        self.width = width
        self._axes: matplotlib.axes.Axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._limits = (0, width), (height, 0)
        self._axes.set(xlim=self._limits[0], ylim=self._limits[1])

    def picture(
        self,
        image: Image.Image | None,
        x: float,
        y: float,
        side: float,
        outlines: Outlines = (),
        *,
        filled: bool = False,
    ) -> None:
        """Put a picture into the middle of a square, (x, y) its upper left; None: a crossed box.

        Polygons are outlined or, if `filled`, covered with colour, the last one's where they
        overlap; what lies outside of the picture is not shown.
        """
        if image is None:
            self._crossed_box(x, y, side)
            return
        inch = side / max(image.size)  # of a pixel
        width, height = (inch * size for size in image.size)
        left, top = x + (side - width) / 2, y + (side - height) / 2
        shown = _covered(image, outlines) if filled else image.copy()
        shown.thumbnail((round(PIXELS * side), round(PIXELS * side)))
        extent = (left, left + width, top + height, top)
        # nearest: of the tiny pictures of a demo one sees the pixels, as the model does
        self._axes.imshow(np.asarray(shown), extent=extent, aspect="auto", interpolation="nearest")
        self._axes.set(xlim=self._limits[0], ylim=self._limits[1])  # imshow moves them
        right, bottom = left + width, top + height
        corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
        frame = self._polygon(corners, PALETTE["faint"], 0.5)
        for polygons, colour in () if filled else outlines:
            for polygon in polygons:
                points = _corners(polygon) * inch + (left, top)
                for line_colour, line in (("white", 1.3), (colour, 0.7)):  # seen on any picture
                    self._polygon(points, line_colour, line).set_clip_path(frame)

    def lines(self, x: float, y: float, lines: Lines) -> float:
        """Write lines, the first below y, and return where the last ends."""
        for number, line in enumerate(lines):
            for placed in line:
                self._text(x + placed.x, y + number * LINE, placed.word)
        return y + len(lines) * LINE

    def centred(self, x: float, y: float, side: float, words: Sequence[Word]) -> None:
        """Write words on one line, in the middle below a picture."""
        (line,) = in_lines(words, self.width, 1)
        at = x + (side - width_of(words)) / 2
        self.lines(at, y, [line])

    def rule(self, y: float) -> None:
        """Draw a line across the paper."""
        ends = [MARGIN, self.width - MARGIN]
        self._axes.plot(ends, [y, y], color=PALETTE["faint"], linewidth=0.6)

    def _polygon(self, points: np.ndarray, colour: str, line: float) -> "Patch":
        (patch,) = self._axes.fill(*points.T, fill=False, edgecolor=colour, linewidth=line)
        return patch

    def _crossed_box(self, x: float, y: float, side: float) -> None:
        right, bottom = x + side, y + side
        outline = [(x, y), (right, y), (right, bottom), (x, bottom), (x, y)]
        for points in (outline, [(x, y), (right, bottom)], [(x, bottom), (right, y)]):
            across, down = zip(*points, strict=True)
            self._axes.plot(across, down, color=PALETTE["quiet"], linewidth=0.6, label="unreadable")

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


def in_lines(words: Iterable[Word], width: float, lines: int) -> Lines:
    """Return words in up to so many lines; dots stand for those without room."""
    return set_in_lines(list(words), width, lines=lines, more=lambda left: Word("…"))


def caption_words(caption: str, parroted: Sequence[bool]) -> list[Word]:
    """Return the words between white space of a caption, those that are parroted bold and orange.

    `parroted` says which are, in their order.
    """
    return [
        Word(printable(word), CO_COLOUR if co else PALETTE["text"], bold=co)
        for word, co in zip(caption.split(), parroted, strict=True)
    ]


def _covered(image: Image.Image, outlines: Outlines) -> Image.Image:
    """Return a picture with polygons covered by their colours."""
    cover = image.copy()
    draw = ImageDraw.Draw(cover)
    for polygons, colour in outlines:
        for polygon in polygons:
            corners = _corners(polygon).clip(-FARTHEST, FARTHEST).ravel().tolist()
            draw.polygon(corners, fill=colour)
    return Image.blend(image, cover, COVER)


def _corners(polygon: Polygon) -> np.ndarray:
    return np.asarray(polygon, np.float64).reshape(-1, 2)
