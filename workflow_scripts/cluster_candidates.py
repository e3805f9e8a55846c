"""The embeddings, by cluster, of a part's debiasing candidates, duplicates included."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Pick the candidates, and sort them by cluster."""
    from clipaudit.deduplication.assignment import clustered_schema
    from clipaudit.parrot.cluster_candidates import cluster_candidates
    from clipaudit.parrot.criteria import Curation
    from clipaudit.parrot.curation import passing
    from clipaudit.parrot.curation_parts import read_parts

    held_out = step.settings_list(Curation, "held_out")
    field = step.settings["aesthetics_field"]
    (part,) = read_parts(step.tables, aesthetics_field=field, duplicates=None)
    candidates = passing(
        step.settings_as(Curation, "curation"),
        part,
        list(zip(held_out, step.tables("heldout"), strict=True)),
    )
    centroids = step.table("centroids")
    clustered = cluster_candidates(
        centroids, step.table("placed"), step.batches("embeddings"), candidates
    )
    dimension = centroids.field("embedding").type.byte_width // 2
    step.write_tables("clustered", clustered, clustered_schema(dimension))


run_step(snakemake, compute)
