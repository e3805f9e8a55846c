"""What an audit knows of single samples: for the catalog, a sample's fate, and exports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.forms import Beside, Fate, Section
from clipaudit.catalog.scores import ScoreTable
from clipaudit.catalog.view_parts import Columns
from clipaudit.config.audits import audits, said_by
from clipaudit.config.settings import Settings
from clipaudit.plaindata import Json
from clipaudit.store.store import Store


@dataclass(frozen=True)
class AuditPart:
    """What an audit adds wherever single samples are looked at; all of it, whether it is on or off.

    queries    the view `audit`: by name, SQL that gives at most one row per sample
               (`clipaudit.catalog.view_parts`), by the columns of the views and the settings
    columns    the columns that the view has of these: lines of its select, each with its comma
    fate       what the catalog has of one sample, by name, as JSON can hold it
    sentences  that, in sentences: none where nothing is known
    sections   that, as tables
    shapes     that, as SVG over the sample's picture, in its pixels
    beside     the samples whose pictures say more beside its own, the nearest first
    scores     the numbers of the samples of some corpora, for exports

    What the columns mean stands beside it, in `columns.tsv`.
    """

    queries: Callable[[Columns, Settings | None], Mapping[str, str]]
    columns: str
    fate: Callable[[SampleCatalog, Address], Json]
    sentences: Callable[[Fate], Iterable[str]]
    sections: Callable[[Fate], Iterable[Section]]
    scores: Callable[[Path, Store, Sequence[str]], Iterable[ScoreTable]]
    shapes: Callable[[Fate], Iterable[str]] = lambda fate: ()
    beside: Callable[[Fate], Iterable[Beside]] = lambda fate: ()


@cache
def audit_parts() -> tuple[AuditPart, ...]:
    """Return the parts of all audits, in order."""
    return tuple(said_by(audit, "reports.samples", "PART") for audit in audits())
