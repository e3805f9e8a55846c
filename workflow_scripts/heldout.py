"""The samples of a part that are held out of all sets, and the text in them."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Select the samples."""
    import pyarrow.compute as pc

    from clipaudit.corpora.samples import SAMPLES
    from clipaudit.corpora.splits import select_rows
    from clipaudit.parrot.matching import MATCHES
    from clipaudit.parrot.spans import SPANS

    manifests = step.table("manifests")
    kept = manifests.filter(pc.field("kept"))
    for name, schema in {"samples": SAMPLES, "spans": SPANS, "matches": MATCHES}.items():
        step.write_table(name, select_rows(step.table(name), kept), schema)


run_step(snakemake, compute)
