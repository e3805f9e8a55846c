"""A page for galleries: images in squares, lines and words, at positions in inches.

Measures are in inches in print, y grows downwards. Images are scaled down, never cropped or
stretched. A square without an image is crossed if the image file cannot be decoded, or shows the
sample's uid if the image may not be shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
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
    words_of,
)

Lines = Sequence[Sequence[Placed]]
Point = tuple[float, float]
Picture = Image.Image | str | None  # a uid: it may not be shown; None: it cannot be decoded

PIXELS = 150  # of an image, per inch of its side
BASELINE = 0.1  # of a line, below its upper end
# digits per line; digits shown of a uid that does not fit; digits per line of these
UID_DIGITS, UID_BEGINNING, UID_BEGINNING_DIGITS = 8, 8, 4
DIGIT = 0.602 * SMALLEST_POINTS / 72  # width of every letter of DejaVu Sans Mono
UID_LINE, UID_MARGIN = 0.11, 0.02
NOTE_WIDTH, NOTE_MARGIN, NOTE_LINES = 2.3, 0.08, 8  # of a figure that is only a text


@dataclass(frozen=True)
class Spot:
    """The position of an image on paper: its upper left corner and size."""

    left: float
    top: float
    width: float
    height: float
    inch: float  # of a pixel of the image file

    def on_paper(self, points: np.ndarray) -> np.ndarray:
        """Return the positions on paper of points (x, y), given in pixels of the image file."""
        return points * self.inch + (self.left, self.top)


class Paper:
    """A figure with one pair of axes in inches. Create it within `style()`."""

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
        """Put an image into the middle of a square with upper left (x, y); returns its position.

        Its longer side is scaled down to `pixels`, or to PIXELS per inch. A uid is written in the
        outlined square; for None the square is crossed. Both return None.
        """
        if isinstance(picture, Image.Image):
            return self._image(picture, x, y, side, pixels or round(PIXELS * side))
        if picture is None:
            self._crossed_box(x, y, side)
        else:
            self._uid_box(picture, x, y, side)
        return None

    def frame(self, spot: Spot) -> Patch:
        """Draw a faint line around an image, and return it as a clipping frame."""
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
        """Draw a polygon's outline on a broader white one, visible on any image.

        `corners` are on paper; `lines` are the widths of both in points, the white first. Parts
        outside the frame `within` are not drawn.
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
        # nearest: tiny images of a demo show their pixels, as the model sees them
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
        """Draw a faint line across the paper, except for a margin on each side."""
        self.line([(margin, y), (self.width - margin, y)], colour="faint")

    def block(
        self,
        x: float,
        y: float,
        text: str,
        horizontal: Literal["left", "center"] = "center",
        vertical: Literal["top", "center"] = "top",
    ) -> None:
        """Write a text of one or more lines, unchanged, beside or around (x, y)."""
        self._axes.text(
            x,
            y,
            text,
            fontsize=SMALLEST_POINTS,
            linespacing=1.05,
            horizontalalignment=horizontal,
            verticalalignment=vertical,
        )

    def lines(self, x: float, y: float, lines: Lines) -> float:
        """Write lines, the first below y, and return the lower end of the last."""
        for number, line in enumerate(lines):
            for at, word in line:
                self._word(x + at, y + number * LINE, word)
        return y + len(lines) * LINE

    def centred(self, x: float, y: float, side: float, words: Sequence[Word]) -> None:
        """Write words on one line, centred below an image."""
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
        )


def note(text: str) -> Figure:
    """Return a figure that is only a text: why a gallery is empty.

    It is so narrow that the text can be read in a list of galleries.
    """
    width = NOTE_WIDTH - 2 * NOTE_MARGIN
    lines = in_lines(words_of(shown_text(text)), width, NOTE_LINES)
    paper = Paper(NOTE_WIDTH, 2 * NOTE_MARGIN + LINE * len(lines))
    paper.lines(NOTE_MARGIN, NOTE_MARGIN, lines)
    return paper.figure


def decoded(picture: bytes | str, *, as_shown: bool = False) -> Picture:
    """Return the decoded image of a file, None if it cannot be decoded; a uid stays unchanged.

    It is what models see, or, with `as_shown`, what pages show of a transparent image.
    """
    if isinstance(picture, str):
        return picture
    try:
        return open_picture(picture, as_shown=as_shown).rgb
    except Unusable:
        return None


def uid_lines(uid: str, side: float) -> list[str]:
    """Return a uid in lines that fit a square, or its beginning and dots if it does not fit.

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
    """Return words in up to `lines` lines; dots replace those that do not fit."""
    return set_in_lines(list(words), width, lines=lines, more=lambda left: Word("…"))


def shown_text(text: str) -> str:
    r"""Return a text from the data on one line, in characters that the font has.

    Control characters are spelt out; characters that the font lacks are replaced.

    >>> shown_text("red\x1b[31m \n star \u202eevil")
    'red\\x1b[31m star \\u202eevil'
    """
    return printable(plain(" ".join(text[:LETTERS].split())))


def _cut(text: str, letters: int) -> list[str]:
    return [text[at : at + letters] for at in range(0, len(text), letters)]
