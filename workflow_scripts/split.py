"""The samples of a split: those of another corpus that its predicate chooses."""

from clipaudit.workflow import Step, run_step


def compute(step: Step) -> None:
    """Choose the samples."""
    from clipaudit.corpora.samples import SAMPLES
    from clipaudit.corpora.splits import select_samples

    step.write_table("samples", select_samples(step.table("samples"), **step.settings), SAMPLES)


run_step(snakemake, compute)
