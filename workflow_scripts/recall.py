"""How many objects of each record's picture the public images nearest to its caption show."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare labels."""
    import pyarrow as pa

    from clipaudit.corpora.splits import select_rows
    from clipaudit.memorization.recall import RECALLS, recall_test

    columns = ["shard", "row", "labels"]
    truths = pa.concat_tables(step.tables("truths", columns=columns))
    public = pa.concat_tables(step.tables("public", columns=columns))
    records = select_rows(truths, step.table("records"))
    ks = step.settings["neighbors"]
    top = step.settings["top"]
    recalls = recall_test(step.table("retrieved"), records, public, ks=ks, top=top)
    step.write_table("recalls", recalls, RECALLS)


run_step(snakemake, compute)
