"""What an audit knows of single samples: for the catalog, a sample's fate, and exports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.forms import Beside, Fate, Section
from clipaudit.catalog.scores import ScoreTable
from clipaudit.catalog.view_parts import Columns
from clipaudit.config.audits import audits, plugged_among, said_by
from clipaudit.config.settings import Settings
from clipaudit.plaindata import Json
from clipaudit.store.store import Store


@dataclass(frozen=True)
class Colour:
    """A column of the view `audit` by which points of a map can be coloured, and its title.

    Its values are names, of which a legend has each, or numbers on a scale.
    """

    column: str
    title: str
    is_number: bool = False


@dataclass(frozen=True)
class AuditPart:
    """What an audit adds wherever single samples are looked at; ours, whether it is on or off.

    queries    the view `audit`: by name, SQL that gives at most one row per sample
               (`clipaudit.catalog.view_parts`), by the columns of the views and the settings
    columns    the columns that the view has of these: lines of its select, each with its comma
    fate       what the catalog has of one sample, by name, as JSON can hold it
    sentences  that, in sentences: none where nothing is known
    sections   that, as tables
    shapes     that, as SVG over the sample's picture, in its pixels
    beside     the samples whose pictures say more beside its own, the nearest first
    scores     the numbers of the samples of some corpora, for exports
    colours    the columns that a map can be coloured by
    facets     by heading, SQL over the view `audit` by whose text samples are chosen in the report
    orders     by heading, SQL over it by whose number they are sorted

    What the columns mean stands beside it, in `columns.tsv`. The names of a plug-in's queries,
    columns and fate begin with its own.
    """

    queries: Callable[[Columns, Settings | None], Mapping[str, str]]
    columns: str
    fate: Callable[[SampleCatalog, Address], Json]
    sentences: Callable[[Fate], Iterable[str]]
    sections: Callable[[Fate], Iterable[Section]]
    scores: Callable[[Path, Store, Sequence[str]], Iterable[ScoreTable]]
    shapes: Callable[[Fate], Iterable[str]] = lambda fate: ()
    beside: Callable[[Fate], Iterable[Beside]] = lambda fate: ()
    colours: Sequence[Colour] = ()
    facets: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)


_NOTHING = AuditPart(
    queries=lambda *_: {},
    columns="",
    fate=lambda *_: {},
    sentences=lambda _: (),
    sections=lambda _: (),
    scores=lambda *_: (),
)


def audit_parts(names: Iterable[str]) -> list[AuditPart]:
    """Return the parts of our audits, then of the plug-ins that some of `names` begin with.

    `names` are those of audits that are on, of views, of tables, or of what a fate holds.
    """
    every = audits(plugged_among(names))
    return [said_by(audit, "reports.samples", "PART", _NOTHING) for audit in every]
