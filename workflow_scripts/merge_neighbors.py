"""The nearest train samples of every test sample, over all parts."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Merge the parts."""
    from clipaudit.similarity.nearest import NEIGHBORS, merge_neighbors

    merged = merge_neighbors(
        step.tables("parts"), step.settings["neighbors"], step.settings["test_sets"]
    )
    step.write_table("neighbors", merged, NEIGHBORS)


run_step(snakemake, compute)
