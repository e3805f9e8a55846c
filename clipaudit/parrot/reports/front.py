"""The parrot audit's part of the report's first page."""

from clipaudit.config.settings import Settings
from clipaudit.parrot.settings import Parrot
from clipaudit.reports.front import Front, NextStep, Worst


def parrot_front(run: Settings) -> Front:
    """Return the figure, examples and next step beside the answer; none if the audit is off."""
    audit = run.section(Parrot)
    if audit is None:
        return Front()
    query = "from audit where cotr > 0 order by score desc"
    step = NextStep(
        "List the captions that repeat a word of their image, the highest score first.",
        f'clipaudit sql "{query}" --output parrots.csv',
    )
    figures = [f"parrot_fig1_{name}" for name in audit.corpora]
    return Front(figures, [Worst("parrot_fig15")], [step])
