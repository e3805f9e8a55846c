"""The samples of a split: those of another corpus that its predicate chooses."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Choose the samples."""
    from clipaudit.corpora.splits import select_samples

    samples = step.table("samples")
    step.write_table("samples", select_samples(samples, **step.settings), samples.schema)


run_step(snakemake, compute)
