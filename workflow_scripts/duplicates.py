"""The similarity of each sample in a group of clusters to the sample that makes it a duplicate."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare within clusters; resources never affect the table."""
    from clipaudit.deduplication.duplicates import DUPLICATES, find_duplicates

    settings, clusters = step.settings, step.table("centroids").num_rows
    group, groups = settings["group"]
    duplicates = find_duplicates(
        lambda clusters: step.ranges("clustered", "cluster", clusters[0], clusters[-1]),
        range(clusters * group // groups, clusters * (group + 1) // groups),
        rule=settings["removal_rule"],
        floor=settings["floor"],
        backend=step.resource("backend", None),
        device=step.device,
        threads=step.threads,
    )
    step.write_table("duplicates", duplicates, DUPLICATES)


run_step(snakemake, compute)
