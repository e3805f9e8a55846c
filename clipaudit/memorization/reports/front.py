"""The memorization audit's part of the report's first page."""

from clipaudit.config.settings import Settings
from clipaudit.memorization.settings import Memorization
from clipaudit.reports.front import Front, NextStep, Worst


def memorization_front(run: Settings) -> Front:
    """Return the figure, examples and next step beside the answer; none if the audit is off."""
    audit = run.section(Memorization)
    if audit is None:
        return Front()
    query = "from audit where recall_gap > 0 order by recall_gap desc"
    step = NextStep(
        "List the records whose objects one model recovers more than the other, most first.",
        f'clipaudit sql "{query}" --output remembered.csv',
    )
    first = audit.publics[:1]
    figures = [*(f"memorization_fig3_{name}" for name in first), "memorization_fig2"]
    return Front(figures, [Worst(f"memorization_fig1_{name}") for name in first], [step])
