"""The rank of every public image by uid."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Sort the public set."""
    import pyarrow as pa

    from clipaudit.memorization.retrieval import PUBLIC_ORDER, order_by_uid

    samples = pa.concat_tables(step.tables("samples", columns=["shard", "row", "uid"]))
    step.write_table("order", order_by_uid(samples), PUBLIC_ORDER)


run_step(snakemake, compute)
