"""The samples of a part that are held out of all sets."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Select them."""
    import pyarrow.compute as pc

    from clipaudit.corpora.samples import SAMPLES
    from clipaudit.corpora.splits import select_rows

    manifests = step.table("manifests")
    kept = manifests.filter(pc.field("kept"))
    step.write_table("samples", select_rows(step.table("samples"), kept), SAMPLES)


run_step(snakemake, compute)
