"""Precomputed objects in the images of a part, joined to its samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Look the part's samples up."""
    from clipaudit.corpora.classes import read_classes
    from clipaudit.memorization.given_objects import take_objects
    from clipaudit.memorization.objects import OBJECTS, VOCABULARY

    listed, shards = step.files("names"), step.settings["shards"]
    objects, vocabulary = take_objects(
        step.table("samples"),
        step.between("given", "shard", shards[0], shards[-1]),
        threshold=step.settings["threshold"],
        names=read_classes(listed[0]) if listed else step.settings["names"],
    )
    step.write_table("objects", objects, OBJECTS)
    step.write_table("vocabulary", vocabulary, VOCABULARY)


run_step(snakemake, compute)
