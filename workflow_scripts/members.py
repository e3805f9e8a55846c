"""The samples of a part that are finally in a set."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Remove duplicates of records."""
    from clipaudit.corpora.drops import DROPS
    from clipaudit.memorization.membership import MEMBERS, overlap_drops, without_overlaps

    overlaps = step.table("overlaps")
    step.write_table("members", without_overlaps(step.table("drawn"), overlaps), MEMBERS)
    step.write_table("drops", overlap_drops(overlaps, step.table("samples")), DROPS)


run_step(snakemake, compute)
