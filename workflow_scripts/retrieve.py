"""The public images nearest to the captions of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search the public set; resources never affect the table."""
    from clipaudit.memorization.recall import RETRIEVED
    from clipaudit.memorization.retrieval import caption_queries, retrieve
    from clipaudit.neighbors.backends import quicker_backend, search

    queries = caption_queries(step.table("captions"))
    quicker = quicker_backend(step.rows("public"), *queries.vectors.shape, device=step.device)
    block_rows = step.resource("block_rows", 32_768)
    engine = search(
        queries,
        k=step.settings["neighbors"],
        backend=step.resource("backend", quicker),
        device=step.device,
        block_rows=block_rows,
        threads=step.threads,
    )
    public, order = step.batches("public"), step.table("order")
    retrieved = retrieve(engine, queries, public, order, block_rows=block_rows)
    step.write_table("retrieved", retrieved, RETRIEVED)


run_step(snakemake, compute)
