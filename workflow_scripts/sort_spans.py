"""Precomputed text in a corpus's images, in the order of its samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find the sample of each row."""
    from clipaudit.parrot.sorted_spans import sort_spans
    from clipaudit.parrot.spans import SPANS

    rows = sort_spans(step.tables("samples"), step.files("files"), **step.settings["join"])
    step.write_tables("spans", rows, SPANS)


run_step(snakemake, compute)
