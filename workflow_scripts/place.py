"""The cluster of every image of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Place the images."""
    from clipaudit.parrot.clusters import PLACED, place

    placed = place(step.table("clustering"), step.batches("embeddings"))
    step.write_tables("placed", placed, PLACED)


run_step(snakemake, compute)
