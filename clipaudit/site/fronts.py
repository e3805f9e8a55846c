"""What the first page shows beside each answer: a figure, the worst examples, commands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clipaudit.catalog.samples.catalog import Address
from clipaudit.config.settings import Settings
from clipaudit.plaindata import Row
from clipaudit.plaintext import plain
from clipaudit.reports.contents import contents
from clipaudit.reports.front import Front, NextStep, Worst
from clipaudit.site.content import FigureContent
from clipaudit.site.samples import SamplePage, row_addresses
from clipaudit.site.values import shown

EXAMPLES = 4


@dataclass(frozen=True)
class Example:
    """One sample, or a pair that a gallery shows together, and what the gallery says of it."""

    pages: tuple[SamplePage, ...]
    words: str


@dataclass(frozen=True)
class ShownFront:
    """An audit's part of the first page; what the run has not is not there."""

    figure: FigureContent | None
    gallery: str  # whose examples these are
    examples: tuple[Example, ...]
    steps: Sequence[NextStep]


def shown_fronts(
    run: Settings, figures: Sequence[FigureContent], pages: Sequence[SamplePage]
) -> dict[str, ShownFront]:
    """Return what the first page shows of the audits that are on, by name."""
    known = {figure.table.name: figure for figure in figures}
    of = {page.address: page for page in pages}
    return {audit.name: _shown(contents(audit).front(run), known, of) for audit, _ in run.audits()}


def _shown(
    front: Front, known: Mapping[str, FigureContent], pages: Mapping[Address, SamplePage]
) -> ShownFront:
    figure = next((known[name] for name in front.figures if name in known), None)
    for worst in front.worst:
        if worst.gallery in known:
            found = list(_examples(worst, known[worst.gallery].table.rows, pages))
            if found:
                return ShownFront(figure, worst.gallery, tuple(found[:EXAMPLES]), front.steps)
    return ShownFront(figure, "", (), front.steps)


def _examples(
    worst: Worst, rows: Sequence[Row], pages: Mapping[Address, SamplePage]
) -> Iterator[Example]:
    """Yield the examples of a gallery, each sample once; one without a page is left out."""
    if worst.by:
        rows = sorted(rows, key=lambda row: -row[worst.by])
    met: set[Address] = set()
    for row in rows:
        addresses = list(row_addresses(row))
        if addresses and not met & set(addresses) and all(each in pages for each in addresses):
            met |= set(addresses)
            said = [_said(name, row[name]) for name in worst.says if row[name] not in (None, "")]
            yield Example(tuple(pages[each] for each in addresses), ", ".join(said))


def _said(column: str, value: object) -> str:
    """Return a value of a gallery's row in words; texts speak for themselves."""
    return plain(value) if isinstance(value, str) else f"{column.replace('_', ' ')} {shown(value)}"
