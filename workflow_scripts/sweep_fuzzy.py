"""How much of a part's captions counts as repeated at several thresholds of the fuzzy match."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Match captions with the text that counts, once for each threshold."""
    from clipaudit.parrot.sweep_fuzzy import FUZZY_SWEEP, sweep_fuzzy

    thresholds = step.settings["thresholds"]
    samples = step.table("samples", columns=["shard", "row", "caption"])
    sweep = sweep_fuzzy(samples, step.table("spans"), thresholds)
    step.write_table("sweep", sweep, FUZZY_SWEEP)


run_step(snakemake, compute)
