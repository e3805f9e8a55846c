"""How many objects of each record's image the public images nearest to its caption show."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare labels."""
    import pyarrow as pa

    from clipaudit.corpora.splits import select_rows
    from clipaudit.memorization.recall import RECALLS, recall_test, retrieved_images

    columns = ["shard", "row", "labels"]
    truths = pa.concat_tables(step.tables("truths", columns=columns))
    records = select_rows(truths, step.table("records"))
    ks, top, retrieved = step.settings["neighbors"], step.settings["top"], step.table("retrieved")
    public = retrieved_images(step.tables("public", columns=columns), retrieved)
    recalls = recall_test(retrieved, records, public, ks=ks, top=top)
    step.write_table("recalls", recalls, RECALLS)


run_step(snakemake, compute)
