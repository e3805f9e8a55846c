"""The samples of a part that are records of A and B at a smaller size, or of the hold-out."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Choose the samples that the manifests keep."""
    from clipaudit.corpora.samples import SAMPLES
    from clipaudit.memorization.records import records_of_size

    manifests = step.tables("manifests", columns=["shard", "row", "kept"])
    step.write_table("samples", records_of_size(step.table("samples"), manifests), SAMPLES)


run_step(snakemake, compute)
