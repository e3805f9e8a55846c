"""What the parts of a sample's fate are made with: rows, and sections of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from clipaudit.catalog.samples.catalog import Address
from clipaudit.plaindata import Json, Row
from clipaudit.plaintext import plain

Fate = Json  # as `sample_fate` returns it


@dataclass(frozen=True)
class Beside:
    """Another sample that is shown beside one, and what it is to that in words."""

    address: Address
    words: str


@dataclass(frozen=True)
class Section:
    """A part of a sample's fate: what it is about, and its rows."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]


def section(title: str, rows: Sequence[Row], *columns: str) -> Section:
    """Return a section with some columns of rows."""
    names = tuple(column.replace("_", " ") for column in columns)
    return Section(title, names, [[row[column] for column in columns] for row in rows])


def picked(rows: Sequence[Row], *names: str) -> list[Row]:
    """Return some columns of rows, null where a row has no such column."""
    return [{name: row.get(name) for name in names} for row in rows]


def place(row: Row) -> str:
    """Return the address of a sample as people write it."""
    return f"{row['shard']}:{row['row']}"


def counted(number: int, thing: str) -> str:
    """Return a number of things in words."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


STROKE = 'vector-effect="non-scaling-stroke" stroke-width="2"'  # of shapes over a picture


def escaped(value: object) -> str:
    """Return a value as text of a page: escaped, its control characters spelt out."""
    return escape(plain(value))
