"""The centroids of the clusters of images, in the space of embeddings."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Map the centroids back."""
    from clipaudit.parrot.cluster_candidates import cluster_centroids

    centroids = cluster_centroids(step.table("clustering"))
    step.write_table("centroids", centroids, centroids.schema)


run_step(snakemake, compute)
