"""Draw parts of a vocabulary as flowing text, with frequent words set larger."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import pyarrow as pa
from matplotlib.figure import Figure

from clipaudit.plaindata import Row
from clipaudit.reports.drawing import (
    PALETTE,
    SERIES_COLOURS,
    SMALLEST_POINTS,
    WIDTHS,
    bare_figure,
    style,
)
from clipaudit.reports.flowing import Word, printable, shortened, width_of
from clipaudit.reports.forms.ranges import interval_label
from clipaudit.reports.layouts import count
from clipaudit.reports.panels import by

_LARGEST = 17.0  # points, of a part's most frequent word
_MARGIN = 0.08  # inches, at the edges
_TITLE = 0.26  # inches, of the line with a part's title
_APART = 0.14  # inches, from a part to the next
_LEADING = 1.3  # from a line to the next, times the size of its largest word
_DESCENT = 0.3  # of that, below the baseline
_SPACE = 0.55  # between words, times the larger one's size
_LINES = 12  # of a part: further words are left out


class _Set(NamedTuple):
    """A word, its size, and its position in inches from the left end of its line."""

    text: str
    points: float
    x: float


@style()
def draw_words(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the words of a table of `parrot_fig10.sql`, each part in a paragraph of its own.

    Words are in the order of the table. In a part the type size follows the logarithm of the
    frequency, from the least to the most frequent shown word; if these do not differ, all words
    have the middle size. A letter that the font lacks becomes a replacement character, and a word
    too long for a line is cut. A part says how many of its words are shown, if not all. Options:
    `empty`, the note of a part without words.
    """
    rows = table.to_pylist()
    parts = list(by(rows, "part_position").values())
    width = WIDTHS["double"] - 2 * _MARGIN
    paragraphs = [_paragraph(part, width) for part in parts]
    bodies = [max(sum(map(_height, lines)), _leading(SMALLEST_POINTS)) for lines in paragraphs]
    height = sum(bodies) + _TITLE * len(parts) + _APART * (len(parts) - 1) + 2 * _MARGIN
    figure = bare_figure(WIDTHS["double"], height)
    top = height - _MARGIN
    for number, (part, lines, body) in enumerate(zip(parts, paragraphs, bodies, strict=True)):
        shown = sum(map(len, lines))
        _write(figure, _MARGIN, top - 0.6 * _TITLE, _title(part[0], shown), 8, PALETTE["text"])
        colour = SERIES_COLOURS[number % len(SERIES_COLOURS)]
        _write_lines(figure, lines, top - _TITLE, colour)
        if not lines:
            at = top - _TITLE - body / 2
            _write(figure, _MARGIN, at, options["empty"], 8, PALETTE["quiet"])
        top -= _TITLE + body + _APART
    return figure


def _title(row: Row, shown: int) -> str:
    if not row["words"]:
        return str(row["part_title"])
    words = f"{count(row['words'])} word{'s' if row['words'] > 1 else ''}"
    often = interval_label(row["least"], row["most"]).replace("\N{EN DASH}", " to ")
    few = f"; the first {shown}" if shown < row["words"] else ""
    return f"{row['part_title']}: {words} of frequency {often}{few}"


def _paragraph(part: Sequence[Row], width: float) -> list[list[_Set]]:
    """Return the words of a part in lines of a width in inches."""
    words = [row for row in part if row["gram"] is not None]
    logs = [math.log(row["frequency"]) for row in words]
    lines: list[list[_Set]] = []
    x = math.inf  # so that the first word opens a line
    for row, log in zip(words, logs, strict=True):
        points = _points(log, min(logs), max(logs))
        text = shortened(printable(row["gram"]), width, partial(_width, points=points))
        space = _SPACE * points / 72
        if x + space + _width(text, points) > width:
            if len(lines) == _LINES:
                break
            lines.append([])
            x = -space
        lines[-1].append(_Set(text, points, x + space))
        x += space + _width(text, points)
    return lines


def _points(log: float, least: float, most: float) -> float:
    share = (log - least) / (most - least) if most > least else 0.5
    return SMALLEST_POINTS + share * (_LARGEST - SMALLEST_POINTS)


def _width(text: str, points: float) -> float:
    return width_of([Word(text)]) * points / SMALLEST_POINTS


def _leading(points: float) -> float:
    return _LEADING * points / 72


def _height(line: Sequence[_Set]) -> float:
    return _leading(max(word.points for word in line))


def _write_lines(figure: Figure, lines: Sequence[Sequence[_Set]], top: float, colour: str) -> None:
    for line in lines:
        top -= _height(line)
        baseline = top + _DESCENT * _height(line)
        for word in line:
            _write(figure, _MARGIN + word.x, baseline, word.text, word.points, colour)


def _write(figure: Figure, x: float, y: float, text: str, points: float, colour: str) -> None:
    """Write a text that begins on a line at x and y, in inches."""
    width, height = figure.get_size_inches()
    figure.text(x / width, y / height, text, size=points, color=colour, va="baseline")
