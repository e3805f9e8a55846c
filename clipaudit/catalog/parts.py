"""An audit's data about single samples, for the catalog, a sample's fate and exports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.forms import Beside, Fate, Section
from clipaudit.catalog.scores import ScoreTable
from clipaudit.catalog.view_parts import Columns
from clipaudit.config.audits import Audit, audits, plugged_among, said_by
from clipaudit.config.settings import Settings
from clipaudit.plaindata import Json
from clipaudit.store.store import Store


@dataclass(frozen=True)
class Colour:
    """A column of the view `audit` that can colour a map's points, and its title.

    Its values are names, listed in a legend, or numbers on a scale.
    """

    column: str
    title: str
    is_number: bool = False


@dataclass(frozen=True)
class AuditPart:
    """An audit's contributions to views of single samples; built-in audits give theirs even if off.

    queries    for the view `audit`: by name, SQL that gives at most one row per sample
               (`clipaudit.catalog.view_parts`), given the views' columns and the settings
    columns    the columns that the view takes from these: lines of its select, each with its comma
    fate       the catalog's values of one sample, by name, as JSON values
    sentences  the fate in sentences; none if nothing is known
    sections   the fate as tables
    shapes     the fate as SVG over the sample's image, in its pixels
    beside     samples whose images are shown beside its own, the nearest first
    scores     the numbers of the samples of some corpora, for exports
    colours    the columns that can colour a map
    facets     by heading, SQL over the view `audit` whose text selects samples in the report
    orders     by heading, SQL over it whose number sorts them

    `columns.tsv`, beside the audit's part, gives the meanings of columns. The names of a plug-in's
    queries, columns and fate begin with its own.
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
    """Return the parts of built-in audits, then of plug-ins whose name starts one of `names`.

    `names` are those of enabled audits, of views, of tables, or of a fate's parts.
    """
    return [audit_part(audit) for audit in audits(plugged_among(names))]


def audit_part(audit: Audit[Any]) -> AuditPart:
    """Return the part of an audit; a plug-in that has none gets an empty one."""
    found: AuditPart = said_by(audit, "reports.samples", "PART", _NOTHING)
    return found
