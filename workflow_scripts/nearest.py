"""The nearest neighbours between one part and all test sets, both directions in one pass."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search the part for the test sets that no earlier search covers.

    Resources never affect the tables.
    """
    from clipaudit.ahead import one_ahead
    from clipaudit.neighbors.backends import quicker_backend, search
    from clipaudit.similarity.known_sets import EarlierSearch, JoinedSearch, deciding_sets
    from clipaudit.similarity.nearest import NEIGHBORS, SIMILARITIES, PartSearch, query_sets

    k, margin = step.settings["neighbors"], step.settings["margin"]
    block_rows = step.resource("block_rows", 32_768)
    tests = {name: step.table("tests", corpus=name) for name in step.settings["test_sets"]}
    tests = {name: table for name, table in tests.items() if len(table)}
    gaps = step.table("gaps") if step.files("gaps") else None
    digests = {name: step.digests("tests", corpus=name) for name in tests}
    common = {"train": step.digests("train"), "neighbors": k, "margin": margin}
    earlier = [
        EarlierSearch(names, files["similarities"].batches(), files["neighbors"].table())
        for names, files in step.known_pieces(deciding_sets(digests, gaps, **common))
    ]
    known = set[str]().union(*(each.names for each in earlier))
    part = None
    missing = {name: table for name, table in tests.items() if name not in known}
    step.share = sum(map(len, missing.values())) / max(1, sum(map(len, tests.values())))
    if missing:
        sets = query_sets(missing, gaps, margin=margin)
        shape = sets.queries.vectors.shape
        quicker = quicker_backend(step.rows("train"), *shape, device=step.device)
        engine = search(
            sets.queries,
            k=k,
            backend=step.resource("backend", quicker),
            device=step.device,
            block_rows=block_rows,
            threads=step.threads,
        )
        part = PartSearch(sets, engine, block_rows=block_rows)
    joined = JoinedSearch(list(tests), earlier, part, block_rows=block_rows)
    similarities = joined.similarities(step.batches("train"))
    step.write_tables("similarities", one_ahead(similarities), SIMILARITIES)
    step.write_table("neighbors", joined.neighbors(), NEIGHBORS)


run_step(snakemake, compute)
