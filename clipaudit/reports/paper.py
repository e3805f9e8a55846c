"""A page for galleries: pictures in squares, lines, and words, at places in inches.

Measures are in inches in print, y grows downwards. Pictures are shrunk, never cut or stretched.
What is no picture is a sign in its square: crossed where an image file cannot be decoded, with the
sample's uid where no picture may be shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from PIL import Image

from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable
from clipaudit.plaintext import plain
from clipaudit.reports.drawing import PALETTE, SMALLEST_POINTS, bare_figure
from clipaudit.reports.flowing import (
    LETTERS,
    LINE,
    Placed,
    Word,
    printable,
    set_in_lines,
    width_of,
)

Lines = Sequence[Sequence[Placed]]
Point = tuple[float, float]
Picture = Image.Image | str | None  # a uid: it may not be shown; None: it cannot be decoded

PIXELS = 150  # of a picture, by an inch of its side
BASELINE = 0.1  # of a line, below its upper end
UID_DIGITS, UID_BEGINNING, UID_BEGINNING_DIGITS = 8, 8, 4  # a line; of a uid without room; a line
DIGIT = 0.602 * SMALLEST_POINTS / 72  # width of every letter of DejaVu Sans Mono
UID_LINE, UID_MARGIN = 0.11, 0.02


@dataclass(frozen=True)
class Spot:
    """Where a picture lies on paper: its upper left corner, and its size."""

    left: float
    top: float
    width: float
    height: float
    inch: float  # of a pixel of the image file

    def on_paper(self, points: np.ndarray) -> np.ndarray:
        """Return where points (x, y), in pixels of the image file, lie on paper."""
        return points * self.inch + (self.left, self.top)


class Paper:
    """A figure with one pair of axes in inches. To be made within `style()`."""

    def __init__(self, width: float, height: float) -> None:
        """Open a blank page."""
        self.figure = bare_figure(width, height)
        self.width = width
        self._axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self._axes.set_axis_off()
        self._limits = (0, width), (height, 0)
        self._axes.set(xlim=self._limits[0], ylim=self._limits[1])

    # --- pictures ----------------------------------------------------------------------------

    def picture(
        self, picture: Picture, x: float, y: float, side: float, *, pixels: int | None = None
    ) -> Spot | None:
        """Put a picture into the middle of a square, (x, y) its upper left, and say where it lies.

        Its longer side is shrunk to `pixels`, or to PIXELS an inch. A uid is written in the square,
        outlined; of None the square is crossed: of these nothing is returned.
        """
        if isinstance(picture, Image.Image):
            return self._image(picture, x, y, side, pixels or round(PIXELS * side))
        if picture is None:
            self._crossed_box(x, y, side)
        else:
            self._uid_box(picture, x, y, side)
        return None

    def frame(self, spot: Spot) -> Patch:
        """Draw a faint line around a picture, and return what else can be kept within it."""
        right, bottom = spot.left + spot.width, spot.top + spot.height
        corners = [(spot.left, spot.top), (right, spot.top), (right, bottom), (spot.left, bottom)]
        return self._polygon(np.array(corners), PALETTE["faint"], 0.5)

    def outline(
        self,
        corners: np.ndarray,
        colour: str,
        *,
        lines: tuple[float, float],
        within: Patch | None = None,
    ) -> None:
        """Draw a polygon's outline on a broader white one: it is seen on any picture.

        `corners` lie on paper; `lines` are the widths of both in points, the white first. Only
        what is `within` a frame is drawn.
        """
        for line_colour, line in zip(("white", colour), lines, strict=True):
            patch = self._polygon(corners, line_colour, line)
            if within is not None:
                patch.set_clip_path(within)

    def _image(self, image: Image.Image, x: float, y: float, side: float, pixels: int) -> Spot:
        inch = side / max(image.size)
        width, height = (inch * size for size in image.size)
        spot = Spot(x + (side - width) / 2, y + (side - height) / 2, width, height, inch)
        shown = image.copy()
        shown.thumbnail((pixels, pixels))
        extent = (spot.left, spot.left + width, spot.top + height, spot.top)
        # nearest: of the tiny pictures of a demo one sees the pixels, as the model does
        self._axes.imshow(np.asarray(shown), extent=extent, aspect="auto", interpolation="nearest")
        self._axes.set(xlim=self._limits[0], ylim=self._limits[1])  # imshow moves them
        return spot

    def _crossed_box(self, x: float, y: float, side: float) -> None:
        right, bottom = x + side, y + side
        self._box(x, y, side, "unreadable")
        for points in ([(x, y), (right, bottom)], [(x, bottom), (right, y)]):
            self.line(points, label="unreadable")

    def _uid_box(self, uid: str, x: float, y: float, side: float) -> None:
        self._box(x, y, side, "not shown")
        lines = uid_lines(uid, side)
        top = y + (side - len(lines) * UID_LINE) / 2
        for number, digits in enumerate(lines):
            self._axes.text(
                x + side / 2,
                top + number * UID_LINE + BASELINE,
                digits,
                color=PALETTE["quiet"],
                family="DejaVu Sans Mono",
                fontsize=SMALLEST_POINTS,
                horizontalalignment="center",
                verticalalignment="baseline",
                parse_math=False,
            )

    def _box(self, x: float, y: float, side: float, label: str) -> None:
        right, bottom = x + side, y + side
        self.line([(x, y), (right, y), (right, bottom), (x, bottom), (x, y)], label=label)

    def _polygon(self, corners: np.ndarray, colour: str, line: float) -> Patch:
        (patch,) = self._axes.fill(*corners.T, fill=False, edgecolor=colour, linewidth=line)
        return patch

    # --- lines and words ---------------------------------------------------------------------

    def line(self, points: Sequence[Point], colour: str = "quiet", label: str = "") -> None:
        """Draw a thin line through points, in a colour of the palette."""
        across, down = zip(*points, strict=True)
        self._axes.plot(across, down, color=PALETTE[colour], linewidth=0.6, label=label)

    def rule(self, y: float, margin: float) -> None:
        """Draw a faint line across the paper, but for a margin on each side."""
        self.line([(margin, y), (self.width - margin, y)], colour="faint")

    def block(
        self,
        x: float,
        y: float,
        text: str,
        horizontal: Literal["left", "center"] = "center",
        vertical: Literal["top", "center"] = "top",
    ) -> None:
        """Write a text of one or more lines, which stays as it is, on one side or around (x, y)."""
        self._axes.text(
            x,
            y,
            text,
            fontsize=SMALLEST_POINTS,
            linespacing=1.05,
            horizontalalignment=horizontal,
            verticalalignment=vertical,
            parse_math=False,  # titles and names may hold prices
        )

    def lines(self, x: float, y: float, lines: Lines) -> float:
        """Write lines, the first below y, and return where the last ends."""
        for number, line in enumerate(lines):
            for at, word in line:
                self._word(x + at, y + number * LINE, word)
        return y + len(lines) * LINE

    def centred(self, x: float, y: float, side: float, words: Sequence[Word]) -> None:
        """Write words on one line, in the middle below a picture."""
        at = x + (side - width_of(words)) / 2
        self.lines(at, y, in_lines(words, 2 * self.width, 1))

    def _word(self, x: float, y: float, word: Word) -> None:
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


def decoded(picture: bytes | str) -> Picture:
    """Return an image file's picture, None if it cannot be decoded; a uid stays as it is."""
    if isinstance(picture, str):
        return picture
    try:
        return open_picture(picture).rgb
    except Unusable:
        return None


def uid_lines(uid: str, side: float) -> list[str]:
    """Return a uid in lines that fit a square; its beginning and dots if there is no room for it.

    >>> uid_lines("0123456789abcdef" * 2, 0.6)
    ['01234567', '89abcdef', '01234567', '89abcdef']
    >>> uid_lines("0123456789abcdef" * 2, 0.42)
    ['0123', '4567…']
    """
    lines = _cut(uid, UID_DIGITS)
    room = side - 2 * UID_MARGIN
    if UID_DIGITS * DIGIT <= room and len(lines) * UID_LINE <= room:
        return lines
    *most, last = _cut(uid[:UID_BEGINNING], UID_BEGINNING_DIGITS)
    return [*most, f"{last}…"]


def in_lines(words: Iterable[Word], width: float, lines: int) -> Lines:
    """Return words in up to so many lines; dots stand for those without room."""
    return set_in_lines(list(words), width, lines=lines, more=lambda left: Word("…"))


def shown_text(text: str) -> str:
    r"""Return a text that comes from data as the font can show it, on one line.

    Control characters are spelt out, what the font lacks becomes a replacement character.

    >>> shown_text("red\x1b[31m \n star \u202eevil")
    'red\\x1b[31m star \\u202eevil'
    """
    return printable(plain(" ".join(text[:LETTERS].split())))


def _cut(text: str, letters: int) -> list[str]:
    return [text[at : at + letters] for at in range(0, len(text), letters)]
