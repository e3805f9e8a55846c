"""The numbers of a report as its HTML shows them, and whether the run's tables contain them."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_GROUPED = re.compile(r"(?<=\d)[\u202f\u2009](?=\d)")


@dataclass
class Cell:
    """A printed cell: its text, its row and columns in the stored table, and its sort value."""

    row: int
    columns: list[int]
    value: float | None
    text: str = ""


@dataclass
class Said:
    """A sentence of the first page and the table that it names."""

    text: str = ""
    tables: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """The cells of a table's page and the sentences of the first page."""

    def __init__(self, html):
        super().__init__()
        self.cells, self.said, self._cell, self._item, self._link = [], [], None, None, False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        if tag == "td" and "data-r" in held:
            value = float(held["data-v"]) if "data-v" in held else None
            self._cell = Cell(int(held["data-r"]), list(map(int, held["data-c"].split())), value)
            self.cells.append(self._cell)
        if tag == "li":
            self._item = Said()
            self.said.append(self._item)
        if tag == "a" and self._item is not None:
            self._link = True
            self._item.tables += re.findall(r"^tables/(.+)\.html$", held.get("href", ""))

    def handle_endtag(self, tag):
        if tag == "td":
            self._cell = None
        if tag == "li":
            self._item = None
        if tag == "a":
            self._link = False

    def handle_data(self, data):
        if self._cell is not None:
            self._cell.text += data
        if self._item is not None and not self._link:
            self._item.text += data


def written_numbers(text):
    """Return the numbers in a text as written: "-" as the minus sign, no digit grouping."""
    plain = _GROUPED.sub("", text).replace("\N{MINUS SIGN}", "-")
    return _NUMBER.findall(plain)


def is_shown(written, values):
    """Return whether a written number is one of some values, rounded, as a number or in percent.

    A number has its own sign, or the opposite one if it counts what was removed.
    """
    digits = len(written.partition(".")[2])
    shown = abs(float(written))
    half = 0.5000001 * 10**-digits
    return any(abs(shown - abs(times * value)) <= half for value in values for times in (1, 100))
