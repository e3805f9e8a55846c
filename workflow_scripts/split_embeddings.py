"""The embeddings of a split, taken from its source corpus."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Choose the rows of the split."""
    import pyarrow.parquet as pq

    from clipaudit.corpora.drops import DROPS
    from clipaudit.corpora.splits import select_embeddings, select_rows

    samples = step.table("samples")
    schema = pq.read_schema(step.file("embeddings"))
    rows = select_embeddings(step.batches("embeddings"), samples)
    step.write_tables("embeddings", rows, schema)
    step.write_table("drops", select_rows(step.table("drops"), samples), DROPS)


run_step(snakemake, compute)
