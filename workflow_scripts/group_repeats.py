"""Groups of duplicate training images."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Join the pairs of all parts."""
    from clipaudit.copies.groups import GROUPS, group_repeats

    step.write_table("groups", group_repeats(step.tables("repeats")), GROUPS)


run_step(snakemake, compute)
