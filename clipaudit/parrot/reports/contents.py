"""Declare the reports of the parrot-caption audit."""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.parrot.fixed import ANSWER
from clipaudit.parrot.reports.answer import parrot_answer
from clipaudit.parrot.reports.curated import curated_tables
from clipaudit.parrot.reports.front import parrot_front
from clipaudit.parrot.reports.galleries import parrot_galleries
from clipaudit.parrot.reports.inspected_figures import inspected_figures
from clipaudit.parrot.reports.probe_figures import probe_figures
from clipaudit.parrot.reports.profile import profile_tables
from clipaudit.parrot.settings import Parrot
from clipaudit.reports.contents import Contents, Look, SampleNumbers, VectorMap
from clipaudit.reports.specification import part_files


def _unread(run: Settings) -> Sequence[str]:
    """Return the files of all text read in images, before filtering, and of their clusters."""
    audit = run.section(Parrot)
    if audit is None:
        return []
    readings = part_files(run, "readings", audit.corpora)
    if audit.encoder is None:
        return readings
    return readings + part_files(run, f"placed/{audit.encoder}", audit.corpora)


def _text_rates(run: Settings, corpora: Sequence[str]) -> SampleNumbers:
    """Return the spotted caption words of samples; without the audit, those of no corpus."""
    audit = run.section(Parrot)
    profiled = [] if audit is None else audit.corpora
    sources = [name for name in map(run.source, corpora) if name in profiled]
    return SampleNumbers(
        {"matches": part_files(run, "matches", sources)},
        [("text_rate", "", "caption-text rate")],
        {"tokenization": audit.tokenization if audit else "words"},
    )


def _looks(run: Settings) -> Sequence[Look]:
    """Return the corpora to check by hand, so that false alarms are known."""
    audit = run.section(Parrot)
    return [
        Look(
            corpus=name,
            view="matches",
            question="Is there text in the image?",
            answer=ANSWER,
            setting=f"parrot.checked.{name}",
        )
        for name in (audit.corpora if audit else ())
        if run.corpora[name].world is None
    ]


def _maps(run: Settings) -> Sequence[VectorMap]:
    """Return the corpora that are read for text, by the encoder that clusters them."""
    audit = run.section(Parrot)
    if audit is None or audit.encoder is None:
        return []
    return [VectorMap(audit.encoder, name) for name in audit.corpora]


CONTENTS = Contents(
    [profile_tables, curated_tables],
    [inspected_figures, probe_figures],
    parrot_galleries,
    parrot_answer,
    unread=_unread,
    sample_numbers=_text_rates,
    looks=_looks,
    maps=_maps,
    front=parrot_front,
)
