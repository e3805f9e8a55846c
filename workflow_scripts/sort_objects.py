"""Precomputed objects in a corpus's images, in the order of its samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find the sample of each row."""
    from clipaudit.memorization.sorted_objects import SORTED_OBJECTS, sort_objects

    rows = sort_objects(step.tables("samples"), step.files("files"), **step.settings["join"])
    step.write_tables("objects", rows, SORTED_OBJECTS)


run_step(snakemake, compute)
