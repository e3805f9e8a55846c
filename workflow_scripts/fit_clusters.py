"""Clusters of the images of a corpus, learned from a random sample."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Learn the clusters."""
    from clipaudit.parrot.clusters import CLUSTERING, fit_clusters
    from clipaudit.parrot.settings import Clusters

    asked = step.settings_as(Clusters, "clusters")
    clustering = fit_clusters(step.batches("embeddings"), asked, threads=step.threads)
    step.write_table("clustering", clustering, CLUSTERING)


run_step(snakemake, compute)
