"""The samples of a part that are public, or records of A, B or the hold-out."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Choose the samples by their sets."""
    from clipaudit.corpora.samples import SAMPLES
    from clipaudit.corpora.splits import select_rows
    from clipaudit.memorization.membership import of_kind

    chosen = of_kind(step.table("members"), step.settings["kind"])
    step.write_table("samples", select_rows(step.table("samples"), chosen), SAMPLES)


run_step(snakemake, compute)
