"""The n-grams of a vocabulary that the user gives."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Read the file."""
    from clipaudit.parrot.given_vocabulary import read_grams
    from clipaudit.parrot.vocabulary import GRAMS

    (path,) = step.files("file")
    grams = read_grams(path, n=step.settings["length"], most=step.settings["most"])
    step.write_table("vocabulary", grams, GRAMS)


run_step(snakemake, compute)
