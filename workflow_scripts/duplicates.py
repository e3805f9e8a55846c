"""How similar each sample of a group of clusters is to what makes it superfluous."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare within clusters; resources say how, and never show in the table."""
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
