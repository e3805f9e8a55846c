"""The objects of the pictures of a part that others found, joined to its samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find the row of each sample."""
    from clipaudit.corpora.classes import read_classes
    from clipaudit.memorization.given_objects import take_objects
    from clipaudit.memorization.objects import OBJECTS, VOCABULARY

    listed = step.files("names")
    objects, vocabulary = take_objects(
        step.table("samples"),
        step.files("files"),
        **step.settings["join"],
        threshold=step.settings["threshold"],
        names=read_classes(listed[0]) if listed else step.settings["names"],
    )
    step.write_table("objects", objects, OBJECTS)
    step.write_table("vocabulary", vocabulary, VOCABULARY)


run_step(snakemake, compute)
