"""What the similarity audit reports."""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.reports.contents import Contents, SampleNumbers, VectorMap
from clipaudit.reports.specification import part_files
from clipaudit.similarity.reports.answer import similarity_answer
from clipaudit.similarity.reports.figures import similarity_figures
from clipaudit.similarity.reports.front import similarity_front
from clipaudit.similarity.reports.galleries import similarity_galleries
from clipaudit.similarity.reports.tables import similarity_tables
from clipaudit.similarity.settings import Similarity


def _similarities(run: Settings, corpora: Sequence[str]) -> SampleNumbers:
    """Return each sample's similarity to the nearest of each test set; none without the audit."""
    audit = run.section(Similarity)
    if audit is None:
        return SampleNumbers({"similarities": []})
    return SampleNumbers(
        {"similarities": part_files(run, f"similarities/{audit.encoder}", corpora)},
        [("similarity", name, f"similarity to {run.title(name)}") for name in audit.test_sets],
    )


def _maps(run: Settings) -> Sequence[VectorMap]:
    """Return the large set, by the audit's own encoder, with the test sets."""
    audit = run.section(Similarity)
    return [VectorMap(audit.encoder, audit.large, audit.test_sets)] if audit else []


CONTENTS = Contents(
    [similarity_tables],
    [similarity_figures],
    similarity_galleries,
    similarity_answer,
    sample_numbers=_similarities,
    maps=_maps,
    front=similarity_front,
)
