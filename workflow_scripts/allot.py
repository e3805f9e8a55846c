"""The samples of a source in each set."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Take the lowest lots of each set's interval."""
    from clipaudit.memorization.allotment import ALLOTMENT, allot

    step.write_table("allotment", allot(step.tables("lots"), **step.settings), ALLOTMENT)


run_step(snakemake, compute)
