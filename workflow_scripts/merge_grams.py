"""The most frequent grams of a corpus."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Add up the parts."""
    from clipaudit.parrot.vocabulary import GRAMS, merge_grams

    grams = merge_grams(step.tables("grams"), most=step.settings["most"])
    step.write_table("vocabulary", grams, GRAMS)


run_step(snakemake, compute)
