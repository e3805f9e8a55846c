"""Draw synthetic images: a centred text on a blank background.

Lin et al., ECCV 2024 (https://arxiv.org/abs/2312.14232), Sec. 5.2 and Fig. 2: an image of 224
pixels and type of 32. Differences: the published code draws in Arial, which may not be shipped, and
cuts off both ends of a text wider than the image; on Pillow 10 and above it drops every text. Here
a text too wide is wrapped, then shrunk, then broken, and its layout is reported; the ink is
centred. Letters are set one after another from left to right with the font's own kerning, without
ligatures or other shaping, which would depend on system libraries: Arabic, Hebrew and the scripts
of India are drawn wrongly, although no glyph is missing.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from io import BytesIO
from math import ceil, floor
from pathlib import Path
from typing import Literal, NamedTuple

import matplotlib
import numpy as np
from jaxtyping import UInt8
from matplotlib.ft2font import FT2Font
from PIL import Image, ImageDraw, ImageFont

from clipaudit.errors import InputError

Style = Literal["white-black", "black-white", "gray-white", "gray-black"]
STYLES: Mapping[Style, tuple[int, int]] = {  # background and letters; the paper's four
    "white-black": (255, 0),
    "black-white": (0, 255),
    "gray-white": (128, 255),
    "gray-black": (128, 0),
}
SMALLEST_TYPE = 8  # pixels; smaller letters are blots
MARGIN = 1  # pixels without ink along each edge
FONTS_KEPT = 64  # sizes in memory: more than from type_size to the smallest

Mask = UInt8[np.ndarray, "side side"]
Box = tuple[int, int, int, int]  # left, top, right, bottom


@dataclass(frozen=True)
class Typeface:
    """A font: the bytes of a TrueType or OpenType file."""

    data: bytes


class Layout(NamedTuple):
    """The layout of a text in an image."""

    lines: tuple[str, ...]
    type_size: int  # pixels
    missing_glyphs: int  # characters that the font lacks; its replacement box is drawn for them
    cut: int  # characters at the end for which there is no room


@cache
def dejavu_sans() -> Typeface:
    """Return the DejaVu Sans that ships with matplotlib."""
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return Typeface(path.read_bytes())


def render(
    text: str, style: Style, typeface: Typeface, *, side: int = 224, type_size: int = 32
) -> UInt8[np.ndarray, "side side 3"]:
    """Return the image of a text, set as by `layout`.

    >>> render("null", "gray-white", dejavu_sans(), side=64, type_size=9)[0, 0].tolist()
    [128, 128, 128]
    """
    placed = layout(text, typeface, side=side, type_size=type_size)
    return colour(ink(placed, typeface, side=side), style)


def layout(text: str, typeface: Typeface, *, side: int = 224, type_size: int = 32) -> Layout:
    """Return where to break a text and the largest type, up to `type_size`, in which it fits.

    A text too wide for the image is wrapped at its white space, each run of which counts as one
    space; if that does not fit, the type is made smaller, a pixel at a time. In the smallest type
    words are broken anywhere, and text beyond the last line is cut. Without words there are no
    lines. Raises InputError for a font file that cannot be read.

    >>> layout("to be or  not to be", dejavu_sans()).lines
    ('to be or not', 'to be')
    >>> layout("antidisestablishmentarianism", dejavu_sans())[1:]
    (14, 0, 0)
    """
    words = text.split()
    glyphs = _glyphs(typeface)
    missing = sum(ord(character) not in glyphs for word in words for character in word)
    room = side - 2 * MARGIN
    smallest = min(SMALLEST_TYPE, type_size)
    for size in range(type_size, smallest - 1, -1):
        block = _Block(_font(typeface, size), room)
        lines = block.wrapped(words)
        if lines is not None:
            return Layout(tuple(lines), size, missing, 0)
    lines = block.filled(words)
    drawn = sum(len(line.replace(" ", "")) for line in lines)
    return Layout(tuple(lines), smallest, missing, sum(map(len, words)) - drawn)


def ink(placed: Layout, typeface: Typeface, *, side: int = 224) -> Mask:
    """Return the coverage of each pixel by letters, 0 to 255, with their bounding box centred.

    Lines are centred too. Characters without ink (a zero-width space) give a mask of zeros.
    """
    room = side - 2 * MARGIN
    page = _Block(_font(typeface, placed.type_size), room).drawn(placed.lines)
    inside = page.crop(page.getbbox() or (0, 0, 1, 1))
    canvas = Image.new("L", (side, side))
    # a single character wider than the image is cut on both sides
    width, height = min(inside.width, room), min(inside.height, room)
    left, top = (inside.width - width) // 2, (inside.height - height) // 2
    inside = inside.crop((left, top, left + width, top + height))
    canvas.paste(inside, ((side - inside.width) // 2, (side - inside.height) // 2))
    return np.asarray(canvas)


def colour(mask: Mask, style: Style) -> UInt8[np.ndarray, "side side 3"]:
    """Return the image of a mask: the letters' gray at 255, the background's at 0."""
    shaded = mask.tobytes().translate(_shades(style))
    return np.asarray(Image.frombytes("L", mask.shape, shaded).convert("RGB"))


@cache
def _shades(style: Style) -> bytes:
    """Return the gray for each coverage of a pixel by letters."""
    background, letters = STYLES[style]
    return bytes(
        (background * (255 - cover) + letters * cover + 127) // 255 for cover in range(256)
    )


class _Block:
    """Lines of type in a square of `room` pixels."""

    def __init__(self, font: ImageFont.FreeTypeFont, room: int) -> None:
        self.font = font
        self.room = room
        self.pitch = sum(font.getmetrics())  # pixels from one line to the next

    def wrapped(self, words: Sequence[str]) -> list[str] | None:
        """Return the words on lines, as many as fit on each; None if they do not all fit."""
        lines: list[str] = []
        for word in words:
            if lines and self._fits_beside(longer := f"{lines[-1]} {word}"):
                lines[-1] = longer
            elif self._fits_beside(word) and (len(lines) + 1) * self.pitch <= self.room:
                lines.append(word)
            else:
                return None
        return lines if self._height(lines) <= self.room else None

    def filled(self, words: Sequence[str]) -> list[str]:
        """Return as many lines as fit, at least one; words that are too wide are broken."""
        lines: list[str] = []
        for word in words:
            if lines and self._fits_beside(longer := f"{lines[-1]} {word}"):
                if self._height([*lines[:-1], longer]) > self.room:  # the word has a descender
                    return lines
                lines[-1] = longer
                continue
            rest = word
            while rest:
                end = self._longest(rest)
                if lines and self._height([*lines, rest[:end]]) > self.room:
                    return lines
                lines.append(rest[:end])
                rest = rest[end:]
        return lines

    def drawn(self, lines: Sequence[str]) -> Image.Image:
        """Return a page with the ink of all lines, centred."""
        if not lines:
            return Image.new("L", (1, 1))
        boxes = [self._box(line) for line in lines]
        width = max(right - left for left, _, right, _ in boxes)
        top, bottom = self._ends(boxes)
        page = Image.new("L", (max(width, 1), max(bottom - top, 1)))
        draw = ImageDraw.Draw(page)
        for at, (line, (left, _, right, _)) in enumerate(zip(lines, boxes, strict=True)):
            corner = ((width - (right - left)) // 2 - left, at * self.pitch - top)
            draw.text(corner, line, font=self.font, fill=255)
        return page

    def _fits_beside(self, line: str) -> bool:
        if len(line) > self.room:  # spares measuring very long words
            return False
        left, _, right, _ = self._box(line)
        return right - left <= self.room

    def _height(self, lines: Sequence[str]) -> int:
        if not lines:
            return 0
        top, bottom = self._ends([self._box(line) for line in lines])
        return bottom - top

    def _ends(self, boxes: Sequence[Box]) -> tuple[int, int]:
        """Return the top and bottom of lines; marks may exceed the first and the last."""
        tops = (at * self.pitch + top for at, (_, top, _, _) in enumerate(boxes))
        bottoms = (at * self.pitch + bottom for at, (_, _, _, bottom) in enumerate(boxes))
        return min(tops), max(bottoms)

    def _longest(self, word: str) -> int:
        """Return the number of the word's first characters that fit on a line, at least one."""
        lengths = range(1, min(len(word), self.room) + 1)
        fitting = bisect_right(lengths, 0, key=lambda n: 0 if self._fits_beside(word[:n]) else 1)
        return max(fitting, 1)

    def _box(self, line: str) -> Box:
        """Return left, top, right and bottom of a box with the line's ink and its advance."""
        left, top, right, bottom = self.font.getbbox(line)
        return floor(left), floor(top), ceil(right), ceil(bottom)


@lru_cache(FONTS_KEPT)
def _font(typeface: Typeface, size: int) -> ImageFont.FreeTypeFont:
    try:
        # the basic layout: the other one depends on system libraries
        return ImageFont.truetype(
            BytesIO(typeface.data), size, layout_engine=ImageFont.Layout.BASIC
        )
    except OSError as error:
        raise InputError(
            f"the font of {len(typeface.data)} bytes cannot be read ({error}). Give the file of a "
            "TrueType or OpenType font."
        ) from error


@cache
def _glyphs(typeface: Typeface) -> frozenset[int]:
    """Return the code points that the font has a glyph for."""
    _font(typeface, SMALLEST_TYPE)  # raises for a file that is not a font
    return frozenset(FT2Font(BytesIO(typeface.data)).get_charmap())
