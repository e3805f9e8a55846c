"""The samples of a part that are in a set for good."""

from clipaudit.workflow import Step, run_step


def compute(step: Step) -> None:
    """Leave out what overlaps an earlier set."""
    from clipaudit.memorization.membership import MEMBERS, without_overlaps

    members = without_overlaps(step.table("drawn"), step.table("overlaps"))
    step.write_table("members", members, MEMBERS)


run_step(snakemake, compute)
