"""The training images that are searched, if not all are."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw the sample."""
    from clipaudit.copies.sampling import SAMPLE, draw_sample

    samples = step.tables("samples", columns=["shard", "row"])
    step.write_table("sample", draw_sample(samples, **step.settings), SAMPLE)


run_step(snakemake, compute)
