"""Building blocks of a sample's fate: rows, and sections of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from clipaudit.catalog.samples.catalog import Address
from clipaudit.plaindata import Json, Row
from clipaudit.plaintext import plain

Fate = Json  # as `sample_fate` returns it


@dataclass(frozen=True)
class Beside:
    """Another sample shown beside one, and its relation to that one in words."""

    address: Address
    words: str


@dataclass(frozen=True)
class Section:
    """A part of a sample's fate: its title and rows."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]


def section(title: str, rows: Sequence[Row], *columns: str) -> Section:
    """Return a section with some columns of rows."""
    names = tuple(column.replace("_", " ") for column in columns)
    return Section(title, names, [[row[column] for column in columns] for row in rows])


def picked(rows: Sequence[Row], *names: str) -> list[Row]:
    """Return some columns of rows, with null for a missing column."""
    return [{name: row.get(name) for name in names} for row in rows]


def place(row: Row) -> str:
    """Return the address of a sample as SHARD:ROW."""
    return f"{row['shard']}:{row['row']}"


STROKE = 'vector-effect="non-scaling-stroke" stroke-width="2"'  # of shapes over an image


def escaped(value: object) -> str:
    """Return a value as HTML text: escaped, with control characters spelt out."""
    return escape(plain(value))
