"""What the similarity audit reports."""

from collections.abc import Sequence

from clipaudit.config.settings import Settings
from clipaudit.reports.contents import Contents, SampleNumbers
from clipaudit.reports.specification import part_files
from clipaudit.similarity.reports.answer import similarity_answer
from clipaudit.similarity.reports.figures import similarity_figures
from clipaudit.similarity.reports.front import similarity_front
from clipaudit.similarity.reports.galleries import similarity_galleries
from clipaudit.similarity.reports.tables import similarity_tables
from clipaudit.similarity.settings import Similarity


def _similarities(run: Settings, corpora: Sequence[str]) -> SampleNumbers:
    """Return how similar samples are to the nearest of each test set; without the audit, none."""
    audit = run.section(Similarity)
    if audit is None:
        return SampleNumbers({"similarities": []})
    return SampleNumbers(
        {"similarities": part_files(run, f"similarities/{audit.encoder}", corpora)},
        [("similarity", name, f"similarity to {run.title(name)}") for name in audit.test_sets],
    )


CONTENTS = Contents(
    [similarity_tables],
    [similarity_figures],
    similarity_galleries,
    similarity_answer,
    sample_numbers=_similarities,
    front=similarity_front,
)
