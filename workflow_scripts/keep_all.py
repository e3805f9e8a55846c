"""The manifest that keeps every sample of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Keep all."""
    from clipaudit.corpora.manifests import MANIFEST, keep_all

    samples = step.table("samples", columns=["shard", "row"])
    step.write_table("manifest", keep_all(samples), MANIFEST, pruning="all")


run_step(snakemake, compute)
