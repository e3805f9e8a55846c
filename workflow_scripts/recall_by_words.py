"""How many objects of each record's image the words of its caption predict."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Fit naive Bayes on the public set, and predict with it."""
    import pyarrow as pa

    from clipaudit.corpora.splits import select_rows
    from clipaudit.memorization.one_model import recall_by_words
    from clipaudit.memorization.recall import RECALLS

    captions, labels = ["shard", "row", "caption"], ["shard", "row", "labels"]
    records = step.table("records")
    recalls = recall_by_words(
        step.table("recalls"),
        records,
        select_rows(pa.concat_tables(step.tables("truths", columns=labels)), records),
        pa.concat_tables(step.tables("captions", columns=captions)),
        pa.concat_tables(step.tables("shown", columns=labels)),
        top=step.settings["top"],
    )
    step.write_table("recalls", recalls, RECALLS)


run_step(snakemake, compute)
