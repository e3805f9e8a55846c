"""Adds what people put on and around images: text, bars, other images, a screenshot's frame.

Every function takes a Pillow image in RGB, a strength and the generator that draws the rest.
Letters are DejaVu Sans, which ships with matplotlib, in FreeType's plain layout.
"""

import math
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

SMALLEST_SIDE = 2  # pixels; what `corpora.images` takes for an image
TWO_LINES = 0.2  # of the height: letters this high are a meme's
LINES = (
    "when you see it",
    "Monday mood",
    "SALE ends Sunday",
    "best day ever",
    "made with love",
    "Follow for more",
    "before and after",
    "wait for it ...",
)
NAMES = ("sunny_garden", "the.daily.cat", "old town photos", "Maria K.", "wood & paper")
THEMES = (("white", "black", "#d0d0d0"), ("#101418", "white", "#404850"))  # ground, ink, faint


def scaled(image: Image.Image, wide: float, high: float) -> Image.Image:
    """Return an image resized by two factors, no side below SMALLEST_SIDE."""
    size = (_pixels(image.width * wide), _pixels(image.height * high))
    return image.resize(size, Image.Resampling.LANCZOS)


def overlaid_text(image: Image.Image, share: float, dice: np.random.Generator) -> Image.Image:
    """Return an image with a line across its top, middle or bottom, letters edged in black.

    `share` is the height of the letters as a share of the image's; a long line gets smaller ones.
    From TWO_LINES on there is a line at the top and one at the bottom, as in a meme.
    """
    line = LINES[int(dice.random() * len(LINES))]
    place = int(dice.random() * 3) / 2  # 0 top, 1 bottom
    second = LINES[int(dice.random() * len(LINES))]
    result = image.copy()
    if share < TWO_LINES:
        _write(result, line, place, share * image.height)
    else:
        _write(result, line, 0, share * image.height)
        _write(result, second, 1, share * image.height)
    return result


def _write(image: Image.Image, line: str, place: float, height: float) -> None:
    """Write a line at a place from 0, the top, to 1, the bottom."""
    font = _fitting(line, 0.96 * image.width, height)
    edge = max(1, round(font.size / 14))
    margin = 0.02 * image.height + 0.6 * font.size
    middle = margin + place * (image.height - 2 * margin)
    where = (image.width / 2, middle)
    ImageDraw.Draw(image).text(
        where, line, "white", font, anchor="mm", stroke_width=edge, stroke_fill="black"
    )


def caption_bar(image: Image.Image, share: float, dice: np.random.Generator) -> Image.Image:
    """Return an image whose lower `share` is covered by a bar in one colour, with a line in it."""
    ground, ink, _ = THEMES[int(dice.random() * len(THEMES))]
    line = LINES[int(dice.random() * len(LINES))]
    height = max(1, round(share * image.height))
    top = image.height - height
    result = image.copy()
    draw = ImageDraw.Draw(result)
    draw.rectangle((0, top, image.width, image.height), fill=ground)
    font = _fitting(line, 0.9 * image.width, 0.6 * height)
    draw.text((image.width / 2, top + height / 2), line, font=font, fill=ink, anchor="mm")
    return result


def pasted_on(
    image: Image.Image, other: Image.Image, share: float, dice: np.random.Generator
) -> Image.Image:
    """Return the other image with this one pasted somewhere on it.

    This one is scaled to the largest size within `share` of the other's sides.
    """
    factor = share * min(other.width / image.width, other.height / image.height)
    small = scaled(image, factor, factor)
    left = int(dice.random() * max(1, other.width - small.width + 1))
    top = int(dice.random() * max(1, other.height - small.height + 1))
    result = other.copy()
    result.paste(small, (left, top))
    return result


def screenshot(image: Image.Image, share: float, dice: np.random.Generator) -> Image.Image:
    """Return an image as an app shows it: a bar with a name above, buttons and lines below.

    The image keeps its size and fills the width; its height is `share` of the result's.
    """
    ground, ink, faint = THEMES[int(dice.random() * len(THEMES))]
    name = NAMES[int(dice.random() * len(NAMES))]
    line = LINES[int(dice.random() * len(LINES))]
    spare = max(3, math.ceil(image.height * (1 / share - 1)))
    above = max(1, round(0.4 * spare))
    frame = Image.new("RGB", (image.width, image.height + spare), ground)
    frame.paste(image, (0, above))
    draw = ImageDraw.Draw(frame)
    _header(draw, image.width, above, name, (ink, faint))
    _footer(draw, above + image.height, image.width, spare - above, line, (ink, faint))
    return frame


def _header(
    draw: ImageDraw.ImageDraw, width: int, height: int, name: str, inks: tuple[str, str]
) -> None:
    """Draw a clock and a battery, below them a round portrait and a name."""
    ink, faint = inks
    unit = min(height, width / 4) / 10
    small = _fitting("10:24", width / 4, 2.4 * unit)
    line = 2.2 * unit
    draw.text((2 * unit, line), "10:24", font=small, fill=ink, anchor="lm")
    right = width - 2 * unit
    draw.rectangle((right - 4 * unit, line - unit, right, line + unit), fill=ink)
    middle = (line + unit + height) / 2
    draw.ellipse((2 * unit, middle - 2 * unit, 6 * unit, middle + 2 * unit), fill=faint)
    font = _fitting(name, 0.7 * width, 2.6 * unit)
    draw.text((7.5 * unit, middle), name, font=font, fill=ink, anchor="lm")


def _footer(
    draw: ImageDraw.ImageDraw, top: int, width: int, height: int, line: str, inks: tuple[str, str]
) -> None:
    """Draw a row of round buttons, below them a line of text and two faint ones."""
    ink, faint = inks
    unit = min(height, width / 4) / 10
    thick = max(1, round(unit / 3))
    for number in range(3):
        left = (2 + 5 * number) * unit
        box = (left, top + 1.5 * unit, left + 3 * unit, top + 4.5 * unit)
        draw.ellipse(box, outline=ink, width=thick)
    font = _fitting(line, 0.8 * width, 2 * unit)
    draw.text((2 * unit, top + 6.2 * unit), line, font=font, fill=ink, anchor="lm")
    for number, length in enumerate((0.8, 0.5)):
        y = top + (7.8 + 1.2 * number) * unit
        draw.rectangle((2 * unit, y, 2 * unit + length * width * 0.9, y + unit / 2), fill=faint)


def _fitting(line: str, width: float, height: float) -> ImageFont.FreeTypeFont:
    """Return the font of the largest size at which a line fits; size 1 if none does."""
    size = max(1, round(height))
    long = _font(size).getlength(line)
    return _font(max(1, math.floor(size * min(1.0, width / long))))


@lru_cache(256)
def _font(size: int) -> ImageFont.FreeTypeFont:
    found = find_spec("matplotlib")  # not imported, which takes longer than to draw an image
    assert found is not None, "a dependency of this package"
    path = Path(str(found.origin)).parent / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
    # the plain layout, as the other one depends on system libraries
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


def _pixels(length: float) -> int:
    return max(SMALLEST_SIDE, round(length))
