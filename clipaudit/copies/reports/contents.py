"""What the copies audit reports."""

from clipaudit.config.settings import Settings
from clipaudit.copies.manifests import copies_prunings
from clipaudit.copies.reports.answer import copies_answer
from clipaudit.copies.reports.figures import copies_figures
from clipaudit.copies.reports.front import copies_front
from clipaudit.copies.reports.galleries import copies_galleries
from clipaudit.copies.reports.tables import copies_tables
from clipaudit.copies.settings import Copies
from clipaudit.reports.contents import Contents, VectorMap
from clipaudit.steps import paths


def _manifests(run: Settings) -> list[str]:
    """Return the manifests of the audit, which no table reads."""
    audit = run.section(Copies)
    if audit is None:
        return []
    return [
        paths.manifest(audit.train, pruning, part)
        for pruning in copies_prunings(run, audit)
        for part in run.parts(audit.train)
    ]


def _maps(run: Settings) -> list[VectorMap]:
    """Return the corpus that is searched, by the first encoder that proposes candidates."""
    audit = run.section(Copies)
    if audit is None or not audit.encoders:
        return []
    return [VectorMap(audit.encoders[0], audit.train, audit.test_sets)]


CONTENTS = Contents(
    [copies_tables],
    [copies_figures],
    copies_galleries,
    copies_answer,
    unread=_manifests,
    maps=_maps,
    front=copies_front,
)
