"""What the parrot-caption audit reports."""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.parrot.reports.answer import parrot_answer
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.galleries import parrot_galleries
from clipaudit.parrot.reports.inspected_figures import inspected_figures
from clipaudit.parrot.reports.probe_figures import probe_figures
from clipaudit.parrot.reports.profile import profile_tables
from clipaudit.parrot.settings import Parrot
from clipaudit.reports.contents import Contents, SampleNumbers
from clipaudit.reports.specification import part_files


def _clusters(run: Settings) -> Sequence[str]:
    """Return the clusters of the pictures."""
    audit = run.section(Parrot)
    if audit is None or audit.encoder is None:
        return []
    return part_files(run, f"placed/{audit.encoder}", audit.corpora)


def _text_rates(run: Settings, corpora: Sequence[str]) -> SampleNumbers:
    """Return which of the samples' caption words are spotted; without the audit, of none."""
    audit = run.section(Parrot)
    profiled = [] if audit is None else audit.corpora
    sources = [name for name in map(run.source, corpora) if name in profiled]
    return SampleNumbers(
        {"matches": part_files(run, "matches", sources)},
        [("text_rate", "", "caption-text rate")],
        {"tokenization": audit.tokenization if audit else "words"},
    )


CONTENTS = Contents(
    [profile_tables, curated_tables],
    [inspected_figures, probe_figures],
    parrot_galleries,
    parrot_answer,
    unread=_clusters,
    sample_numbers=_text_rates,
)
