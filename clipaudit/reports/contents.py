"""What an audit reports, by name: the part of its declaration that is read with the tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clipaudit.config.audits import Audit, said_by
from clipaudit.config.settings import Settings
from clipaudit.reports.answers import Answer, Tables
from clipaudit.reports.front import Front
from clipaudit.reports.specification import Gallery, ReportFigure, ReportTable


@dataclass(frozen=True)
class SampleNumbers:
    """What an audit knows of each sample of some corpora, for tables of other audits.

    `inputs` are pointers by the name of the view that has them; `quantities` the numbers that are
    found there, each as its name, its test set ("" for none) and its title; `parameters` are those
    of SQL that reads the views. An audit that is off has the views, too, with no pointer.
    """

    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quantities: Sequence[tuple[str, str, str]] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """A question that somebody answers by looking at pictures of a corpus, yes or no of each.

    The pictures are drawn at random from those of the catalog's `view`; `shapes` of a sample's fate
    are drawn over each. The report saves a file with the column `answer`, for the setting `setting`
    to name.
    """

    corpus: str
    view: str
    question: str
    answer: str
    setting: str
    shapes: Callable[[Mapping[str, Any]], Iterable[str]]


@dataclass(frozen=True)
class VectorMap:
    """A corpus whose vectors by an encoder the report can map, and test sets beside it."""

    encoder: str
    corpus: str
    test_sets: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Return what settings call it."""
        return f"{self.encoder}/{self.corpus}"


@dataclass(frozen=True)
class Contents:
    """The tables, figures and galleries that settings ask for; each function gives some by name.

    Names begin with the audit's. SQL, published numbers and layouts stand in the audit's folder
    `reports`. `answer` reads the audit's answer off its tables; what these lack is left out.
    `unread` are pointers that no table reads and the catalog shall have. `looks` are questions that
    the report asks those who read it. `maps` are those of vectors that the audit embeds anyway.
    `front` is what the report's first page shows beside the answer.
    """

    tables: Sequence[Callable[[Settings], Mapping[str, ReportTable]]]
    figures: Sequence[Callable[[Settings], Mapping[str, ReportFigure]]]
    galleries: Callable[[Settings], Mapping[str, Gallery]]
    answer: Callable[[Tables], Answer]
    unread: Callable[[Settings], Sequence[str]] = lambda _: ()
    sample_numbers: Callable[[Settings, Sequence[str]], SampleNumbers] = lambda *_: SampleNumbers()
    looks: Callable[[Settings], Sequence[Look]] = lambda _: ()
    maps: Callable[[Settings], Sequence[VectorMap]] = lambda _: ()
    front: Callable[[Settings], Front] = lambda _: Front()


def contents(audit: Audit[Any]) -> Contents:
    """Return what an audit reports."""
    found: Contents = said_by(audit, "reports.contents", "CONTENTS")
    return found


def declared_figures(run: Settings) -> dict[str, ReportFigure | Gallery]:
    """Return the figures and galleries that the settings ask for, by name."""
    found: dict[str, ReportFigure | Gallery] = {}
    for audit, _ in run.audits():
        reported = contents(audit)
        for figures in reported.figures:
            found |= figures(run)
        found |= reported.galleries(run)
    return found


def sample_numbers(run: Settings, corpora: Sequence[str]) -> SampleNumbers:
    """Return what all audits know of each sample of some corpora."""
    found = [contents(audit).sample_numbers(run, corpora) for audit in run.known_audits()]
    return SampleNumbers(
        {view: named for each in found for view, named in each.inputs.items()},
        [quantity for each in found for quantity in each.quantities],
        {name: value for each in found for name, value in each.parameters.items()},
    )


def vector_maps(run: Settings) -> list[VectorMap]:
    """Return the maps that the settings ask for, else those of the audits, each once."""
    of_audits = (each for audit, _ in run.audits() for each in contents(audit).maps(run))
    known: dict[str, VectorMap] = {}
    for each in of_audits:
        known.setdefault(each.name, each)
    asked = run.report.maps.of
    if asked is None:
        return list(known.values())
    return [known.get(name) or VectorMap(*name.split("/")) for name in dict.fromkeys(asked)]
