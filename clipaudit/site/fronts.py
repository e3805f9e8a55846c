"""The first page's content beside each answer: a figure, the worst examples, commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clipaudit.catalog.samples.catalog import Address
from clipaudit.config.settings import Settings
from clipaudit.reports.contents import contents
from clipaudit.reports.front import Front, NextStep, Worst
from clipaudit.site.content import FigureContent
from clipaudit.site.examples import Example, Pages, examples
from clipaudit.site.samples import SamplePage

EXAMPLES = 4


@dataclass(frozen=True)
class ShownFront:
    """An audit's part of the first page, limited to what the run has."""

    figure: FigureContent | None
    gallery: str  # whose examples these are
    examples: tuple[Example, ...]
    steps: Sequence[NextStep]


def worst_columns(run: Settings) -> dict[str, str]:
    """Return the columns by which the first page chooses the examples of a gallery."""
    fronts = (contents(audit).front(run) for audit, _ in run.audits())
    return {worst.gallery: worst.by for front in fronts for worst in front.worst}


def shown_fronts(
    run: Settings, figures: Sequence[FigureContent], pages: Sequence[SamplePage]
) -> dict[str, ShownFront]:
    """Return the first page's parts of the enabled audits, by name."""
    known = {figure.table.name: figure for figure in figures}
    of = {page.address: page for page in pages}
    return {audit.name: _shown(contents(audit).front(run), known, of) for audit, _ in run.audits()}


def _shown(front: Front, known: Mapping[str, FigureContent], pages: Pages) -> ShownFront:
    figure = next((known[name] for name in front.figures if name in known), None)
    for worst in front.worst:
        if worst.gallery in known and (found := _first(worst, known[worst.gallery], pages)):
            return ShownFront(figure, worst.gallery, found, front.steps)
    return ShownFront(figure, "", (), front.steps)


def _first(worst: Worst, gallery: FigureContent, pages: Pages) -> tuple[Example, ...]:
    """Return the first examples of a gallery that have no sample in common."""
    found: list[Example] = []
    met: set[Address] = set()
    for example in examples(gallery, pages, by=worst.by):
        of = {page.address for page in example.pages}
        if not of & met and len(found) < EXAMPLES:
            found.append(example)
            met |= of
    return tuple(found)
