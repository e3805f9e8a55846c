"""An audit's declaration of its reports, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clipaudit.config.audits import Audit, said_by
from clipaudit.config.settings import Settings
from clipaudit.reports.answers import Answer, Tables
from clipaudit.reports.front import Front
from clipaudit.reports.specification import Gallery, ReportFigure, ReportTable


@dataclass(frozen=True)
class SampleNumbers:
    """An audit's values for each sample of some corpora, for tables of other audits.

    `inputs` are pointers by view name. `quantities` are the numbers in these views, each with its
    name, its test set ("" for none) and its title. `parameters` are those of SQL that reads the
    views. An audit that is off has the same views, without pointers.
    """

    inputs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    quantities: Sequence[tuple[str, str, str]] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """A yes-or-no question that a person answers for images of a corpus.

    The images are a random sample of the catalog's `view`, each with the shapes of the audit's
    `AuditPart`. The report saves a file with the column `answer`, for use in the setting `setting`.
    """

    corpus: str
    view: str
    question: str
    answer: str
    setting: str


@dataclass(frozen=True)
class VectorMap:
    """An encoder and a corpus whose vectors the report can map, and test sets to add."""

    encoder: str
    corpus: str
    test_sets: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Return its name in the settings."""
        return f"{self.encoder}/{self.corpus}"


@dataclass(frozen=True)
class Contents:
    """The tables, figures and galleries that settings ask for; each function returns some by name.

    Names begin with the audit's. SQL, published numbers and layouts are in the audit's folder
    `reports`. `answer` derives the audit's answer from its tables, as far as they allow. `unread`
    are pointers for the catalog that no table reads. `looks` are questions to the report's readers.
    `maps` are maps of vectors that the audit embeds anyway. `front` is the content of the report's
    first page beside the answer.
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
    """Return an audit's declaration of its reports."""
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
    """Return all audits' values for each sample of some corpora."""
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
