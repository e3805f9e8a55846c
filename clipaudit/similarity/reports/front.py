"""What the report's first page shows of the similarity audit."""

from clipaudit.config.settings import Settings
from clipaudit.reports.front import Front, NextStep, Worst
from clipaudit.similarity.settings import Similarity


def similarity_front(run: Settings) -> Front:
    """Return what the first page shows beside the answer; nothing if the audit is off."""
    if run.section(Similarity) is None:
        return Front()
    query = "from audit where gap_excess > 0 order by gap_excess desc"
    step = NextStep(
        "List the training images that cross a test image's gap, the farthest beyond it first.",
        f'clipaudit sql "{query}" --output near.csv',
    )
    names = ("fig3", "dose_response", "fig3_left", "fig4")
    figures = [f"similarity_{name}" for name in names]
    return Front(figures, [Worst("similarity_fig2", "similarity")], [step])
