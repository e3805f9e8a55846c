"""Precomputed scores of a corpus, in the order of its samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find the sample of each row."""
    from clipaudit.parrot.curation_parts import AESTHETICS
    from clipaudit.parrot.given_scores import sort_scores

    rows = sort_scores(step.tables("samples"), step.files("files"), **step.settings["join"])
    step.write_tables("scores", rows, AESTHETICS)


run_step(snakemake, compute)
