"""How many images of each set of a source show an object."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Count the objects."""
    from clipaudit.memorization.objects import OBJECT_COUNTS, count_objects

    members = step.tables("members", columns=["shard", "row", "set"])
    objects = step.tables("objects", columns=["shard", "row", "labels"])
    counts = count_objects(zip(members, objects, strict=True), **step.settings)
    step.write_table("counts", counts, OBJECT_COUNTS)


run_step(snakemake, compute)
