"""Set words of several colours in lines of a given width, as text beside images.

Widths come from the outlines of the font, so lines break at the same places in every output.
Measures are in inches in print.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.textpath import TextToPath

from clipaudit.reports.drawing import PALETTE, SMALLEST_POINTS

LINE = 0.13  # from one line of the smallest text to the next
HINTED = 1.04  # PNGs move letters to whole pixels, so a word may be a little wider
UNKNOWN = "\N{REPLACEMENT CHARACTER}"  # for characters that the font lacks
LETTERS = 1000  # letters of a text that are considered: more never fit


@dataclass(frozen=True)
class Word:
    """A piece of a text that stays on one line."""

    text: str
    colour: str = PALETTE["text"]
    bold: bool = False


Placed = tuple[float, Word]  # where a word begins, from the left end of its line


def words_of(text: str, colour: str = PALETTE["text"]) -> list[Word]:
    """Return a text split at white space; characters the font lacks are replaced.

    >>> [word.text for word in words_of("a red\\n cat")]
    ['a', 'red', 'cat']
    """
    return [Word(word, colour) for word in printable(text).split()]


def printable(text: str) -> str:
    """Return the beginning of a text on one line, in characters that the font has."""
    known = _characters()
    shown = " ".join(text[:LETTERS].split())
    return "".join(letter if ord(letter) in known else UNKNOWN for letter in shown)


def set_in_lines(
    words: Sequence[Word], width: float, *, lines: int, more: Callable[[int], Word]
) -> list[list[Placed]]:
    """Return words in up to `lines` lines; `more` gives the word for the number left over.

    A word wider than a line is cut. Without words there are no lines.
    """
    words = [_cut(word, width) for word in words]
    found = _broken(words, width)
    left = sum(map(len, found[:lines]))  # more words would need too many lines
    while len(found) > lines:
        found = _broken([*words[:left], _cut(more(len(words) - left), width)], width)
        left -= 1
    return found


def width_of(words: Iterable[Word]) -> float:
    """Return the width of words beside each other."""
    return sum(_width(word.text, word.bold) + _space() for word in words) - _space()


def shortened(text: str, width: float, measured: Callable[[str], float]) -> str:
    """Return a text, or as many of its letters as fit a width, and an ellipsis.

    A single letter stays, and so does an ellipsis that does not fit.

    >>> shortened("mmmm", 3, len), shortened("mm", 0, len)
    ('mm…', '…')
    """
    if len(text) == 1 or measured(text) <= width:
        return text
    fitting = bisect_right(range(len(text)), width, key=lambda kept: measured(f"{text[:kept]}…"))
    return f"{text[: max(0, fitting - 1)]}…"


def _broken(words: Iterable[Word], width: float) -> list[list[Placed]]:
    lines: list[list[Placed]] = []
    x = width  # so that the first word opens a line
    for word in words:
        own = _width(word.text, word.bold)
        if not lines or x + own > width:
            lines.append([])
            x = 0.0
        lines[-1].append((x, word))
        x += own + _space()
    return lines


def _cut(word: Word, width: float) -> Word:
    """Return a word shortened to the letters that fit."""
    text = shortened(word.text, width, lambda text: _width(text, word.bold))
    return Word(text, word.colour, word.bold)


def _space() -> float:
    return _width("a a", False) - _width("aa", False)


@cache
def _width(text: str, bold: bool) -> float:
    width, _, _ = TextToPath().get_text_width_height_descent(text, _font(bold), False)
    return HINTED * float(width) / 72


@cache
def _characters() -> frozenset[int]:
    fonts = [get_font(findfont(_font(bold))) for bold in (False, True)]
    return frozenset.intersection(*(frozenset(font.get_charmap()) for font in fonts))


def _font(bold: bool) -> FontProperties:
    weight = "bold" if bold else "normal"
    return FontProperties(family="DejaVu Sans", size=SMALLEST_POINTS, weight=weight)
