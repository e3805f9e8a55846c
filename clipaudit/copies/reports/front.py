"""What the report's first page shows of the copies audit."""

from clipaudit.config.settings import Settings
from clipaudit.copies.manifests import WITHOUT_COPIES, copies_prunings, searched_sets
from clipaudit.copies.settings import Copies
from clipaudit.reports.front import Front, NextStep, Worst


def copies_front(run: Settings) -> Front:
    """Return what the first page shows beside the answer; nothing if the audit is off."""
    audit = run.section(Copies)
    if audit is None:
        return Front()
    steps = [
        NextStep(
            "List the training images that are copies of test images.",
            'clipaudit sql "from audit where copy_of is not null" --output copies.csv',
        )
    ]
    if WITHOUT_COPIES in copies_prunings(run, audit):
        manifest = f"{audit.train}/{WITHOUT_COPIES}"
        steps.append(
            NextStep(
                "Export the training data without them.",
                f"clipaudit export {manifest} --format uids --output {WITHOUT_COPIES}.txt",
            )
        )
    worst = [Worst(f"copies_of_{name}") for name in searched_sets(run, audit)]
    return Front(["copies_shares", "copies_trade_off"], [*worst, Worst("copies_repeats")], steps)
