"""The samples of a part that are drawn for any set, overlaps included."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Look the part's samples up in the allotment."""
    from clipaudit.corpora.samples import SAMPLES
    from clipaudit.corpora.splits import select_rows
    from clipaudit.memorization.membership import MEMBERS, members
    from clipaudit.memorization.overlaps import OVERLAPS

    shards, samples = step.settings["shards"], step.table("samples")
    allotted = step.between("allotment", "shard", shards[0], shards[-1])
    drawn = members(samples, allotted, OVERLAPS.empty_table())
    step.write_table("drawn", drawn, MEMBERS)
    step.write_table("samples", select_rows(samples, drawn), SAMPLES)


run_step(snakemake, compute)
