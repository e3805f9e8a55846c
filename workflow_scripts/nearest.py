"""The nearest neighbours between one part and all test sets, both directions in one pass."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search the part; resources say how, and never show in the tables."""
    from clipaudit.ahead import one_ahead
    from clipaudit.neighbors.backends import quicker_backend, search
    from clipaudit.similarity.nearest import NEIGHBORS, SIMILARITIES, PartSearch, query_sets

    tests = {name: step.table("tests", corpus=name) for name in step.settings["test_sets"]}
    gaps = step.table("gaps") if step.files("gaps") else None
    sets = query_sets(tests, gaps, margin=step.settings["margin"])
    quicker = quicker_backend(step.rows("train"), *sets.queries.vectors.shape, device=step.device)
    block_rows = step.resource("block_rows", 32_768)
    engine = search(
        sets.queries,
        k=step.settings["neighbors"],
        backend=step.resource("backend", quicker),
        device=step.device,
        block_rows=block_rows,
        threads=step.threads,
    )
    part = PartSearch(sets, engine, block_rows=block_rows)
    similarities = part.similarities(step.batches("train"))
    step.write_tables("similarities", one_ahead(similarities), SIMILARITIES)
    step.write_table("neighbors", part.neighbors(), NEIGHBORS)


run_step(snakemake, compute)
