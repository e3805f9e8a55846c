"""The neighbours of some test sets among the samples of a part that a manifest keeps."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search the kept samples; resources never affect the table."""
    from clipaudit.corpora.splits import select_embeddings
    from clipaudit.neighbors.backends import quicker_backend, search
    from clipaudit.similarity.nearest import NEIGHBORS, PartSearch, query_sets

    names = step.settings["test_sets"]
    sets = query_sets({name: step.table("tests", corpus=name) for name in names})
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
    train = step.batches("train")
    if step.files("manifest"):
        manifest = step.table("manifest")
        train = select_embeddings(train, manifest.filter(manifest["kept"]))
    part.remember(train)
    step.write_table("neighbors", part.neighbors(), NEIGHBORS)


run_step(snakemake, compute)
