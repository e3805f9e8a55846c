"""Writes words into images."""

from collections import Counter
from functools import cache

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import extent, font, symbols

TYPE_SIZE = 12 / 64  # of the side: OCR reads words of this size (tried at 64 pixels)

SMALLEST_TYPE = 5  # pixels; smaller letters are blots
MARGIN = 1
LETTERS = 4, 8  # of words that name no class: OCR misses shorter ones, longer ones are small
SMALL_WORDS = frozenset({"and", "of", "the", "with", "de", "for"})


@cache
def spoken_word(name: str) -> str:
    """Return the word that stands for a class name in an image.

    It is the word in the fewest class names; ties go to the longest, then to the first.

    >>> spoken_word("skull and crossbones"), spoken_word("chess rook")
    ('crossbones', 'rook')
    """
    uses = _uses_of_words()
    words = [word for word in name.split() if word not in SMALL_WORDS]
    return min(words, key=lambda word: (uses[word], -len(word)))


@cache
def words_of_nothing(classes: int, count: int) -> tuple[str, ...]:
    """Return `count` words of the next symbols that name no class of a world.

    They have four to eight letters. The world has the first `classes` symbols. There may be fewer.

    >>> words_of_nothing(60, 3)
    ('diamond', 'balloon', 'sharp')
    """
    taken = {word for symbol in symbols()[:classes] for word in symbol.name.split()}
    said = dict.fromkeys(spoken_word(symbol.name) for symbol in symbols()[classes:])
    fewest, most = LETTERS
    fitting = (word for word in said if word not in taken and fewest <= len(word) <= most)
    return tuple(fitting)[:count]


@cache
def _uses_of_words() -> Counter[str]:
    return Counter(word for symbol in symbols() for word in symbol.name.split())


def write_word(
    pixels: UInt8[np.ndarray, "side side 3"],
    word: str,
    dice: Dice,
    *,
    type_size: float = TYPE_SIZE,
    place: str = "edges",
) -> UInt8[np.ndarray, "side side 3"]:
    """Return the image with the word in it, wholly inside: at its top or bottom, or `anywhere`.

    The letters are white or black, whichever differs more from the image, with an edge of the
    other. `type_size` is a share of the side; a long word gets smaller letters. Raises ValueError
    for a word that fits at no legible size.
    """
    side = len(pixels)
    dark = int(pixels.sum(dtype=np.int64)) < 128 * pixels.size
    ink, edge = ((255,) * 3, (0,) * 3) if dark else ((0,) * 3, (255,) * 3)
    size = _fitting_size(word, side, type_size)
    left, top, right, bottom = extent(font(size), word, stroke=1)
    free_width, free_height = side - 2 * MARGIN - (right - left), side - 2 * MARGIN - (bottom - top)
    x = MARGIN + dice.integer(free_width + 1) - left
    if place == "edges":
        y = dice.pick([MARGIN, MARGIN + free_height]) - top
    else:
        y = MARGIN + dice.integer(free_height + 1) - top
    image = Image.fromarray(pixels)
    ImageDraw.Draw(image).text(
        (x, y), word, font=font(size), fill=ink, stroke_width=1, stroke_fill=edge
    )
    return np.array(image)


def word_height(word: str, side: int, *, type_size: float = TYPE_SIZE) -> int:
    """Return how many pixels high the letters of a written word are, without their edge."""
    _, top, _, bottom = extent(font(_fitting_size(word, side, type_size)), word)
    return bottom - top


def _fitting_size(word: str, side: int, type_size: float) -> int:
    for size in range(int(side * type_size), SMALLEST_TYPE - 1, -1):
        left, _, right, _ = extent(font(size), word, stroke=1)
        if right - left <= side - 2 * MARGIN:
            return size
    raise ValueError(f"the word {word!r} does not fit into an image of {side} pixels")
