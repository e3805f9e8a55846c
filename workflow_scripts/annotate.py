"""The objects in the images of a part, as the samples' JSON states them."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Read the objects."""
    from clipaudit.corpora.classes import read_classes
    from clipaudit.memorization.objects import OBJECTS, VOCABULARY
    from clipaudit.memorization.stated import objects_of_dataset

    files = step.files("names")
    names = read_classes(files[0]) if files else step.settings["names"]
    objects, vocabulary = objects_of_dataset(step.table("samples"), names=names)
    step.write_table("objects", objects, OBJECTS)
    step.write_table("vocabulary", vocabulary, VOCABULARY)


run_step(snakemake, compute)
