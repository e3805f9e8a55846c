"""The images of a corpus that show text, as judged by a person."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Join the file to the samples."""
    from clipaudit.parrot.checked_text import CHECKED_TEXT, checked_text

    samples = step.tables("samples", columns=["shard", "row", "key", "uid"])
    (path,) = step.files("file")
    step.write_table("checked", checked_text(samples, path), CHECKED_TEXT)


run_step(snakemake, compute)
