"""The neighbours of some test sets among the samples of a part that a manifest keeps."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search the kept samples; resources say how, and never show in the table."""
    from clipaudit.corpora.splits import select_embeddings
    from clipaudit.neighbors.backends import quicker_backend
    from clipaudit.similarity.nearest import NEIGHBORS, PartSearch, query_sets

    names = step.settings["test_sets"]
    sets = query_sets({name: step.table("tests", corpus=name) for name in names})
    search = PartSearch(
        sets,
        k=step.settings["neighbors"],
        backend=step.resource(
            "backend",
            quicker_backend(step.rows("train"), *sets.queries.vectors.shape, device=step.device),
        ),
        device=step.device,
        block_rows=step.resource("block_rows", 32_768),
        threads=step.threads,
    )
    train = step.batches("train")
    if step.files("manifest"):
        manifest = step.table("manifest")
        train = select_embeddings(train, manifest.filter(manifest["kept"]))
    search.remember(train)
    step.write_table("neighbors", search.neighbors(), NEIGHBORS)


run_step(snakemake, compute)
