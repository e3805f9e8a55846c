"""The cluster of every sample of a part, with its embedding, by cluster."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Assign the samples."""
    from clipaudit.deduplication.assignment import (
        assign_clusters,
        centroid_queries,
        clustered_schema,
    )
    from clipaudit.neighbors.backends import quicker_backend

    queries = centroid_queries(step.table("centroids"))
    clustered = assign_clusters(
        queries,
        step.batches("embeddings"),
        backend=step.resource(
            "backend",
            quicker_backend(step.rows("embeddings"), *queries.vectors.shape, device=step.device),
        ),
        device=step.device,
        block_rows=step.resource("block_rows", 32_768),
        threads=step.threads,
    )
    step.write_tables("clustered", clustered, clustered_schema(queries.dimension))


run_step(snakemake, compute)
