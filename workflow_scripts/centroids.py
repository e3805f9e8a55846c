"""The centroids of the spherical k-means, learned from a random sample."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Learn the centroids."""
    from clipaudit.deduplication.clustering import train_centroids

    settings = step.settings
    centroids = train_centroids(
        step.batches("embeddings"),
        clusters=settings["clusters"],
        iterations=settings["iterations"],
        seed=settings["seed"],
        sample=settings["clusters"] * settings["samples_per_cluster"],
        follow=settings["follow"],
        scratch=step.scratch,
        backend=step.resource("backend", None),
        device=step.device,
        block_rows=step.resource("block_rows", 32_768),
        threads=step.threads,
    )
    step.write_table("centroids", centroids, centroids.schema)


run_step(snakemake, compute)
