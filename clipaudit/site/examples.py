"""The samples in each row of a gallery: one, or a pair side by side."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from clipaudit.catalog.samples.catalog import Address
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.site.content import FigureContent
from clipaudit.site.samples import SamplePage, row_addresses, worst_first
from clipaudit.site.values import shown

Pages = Mapping[Address, SamplePage]


@dataclass(frozen=True)
class Example:
    """One sample, or a pair shown together, and the gallery's words about it."""

    pages: tuple[SamplePage, ...]
    words: str


def examples(gallery: FigureContent, pages: Pages, *, by: str = "") -> Iterator[Example]:
    """Yield the examples of a gallery's rows, in their order or with the highest `by` first.

    Repeated examples appear once. Samples without a page are left out; so are rows with no others.
    """
    met: set[tuple[Address, ...]] = set()
    for row in worst_first(gallery.table.rows, by):
        shown_here = tuple(each for each in row_addresses(row) if each in pages)
        if shown_here and shown_here not in met:
            met.add(shown_here)
            yield Example(tuple(map(pages.__getitem__, shown_here)), _words(row, gallery.says))


def _words(row: Row, says: Iterable[str]) -> str:
    """Return a row's values in words; a text appears without its column's name."""
    found = ((name, row.get(name)) for name in says)
    return ", ".join(
        plain(value) if isinstance(value, str) else f"{name.replace('_', ' ')} {shown(value)}"
        for name, value in found
        if value not in (None, "")
    )
