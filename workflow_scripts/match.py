"""How many words of its caption each picture of a part shows."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Match captions and spans."""
    from clipaudit.parrot.matching import MATCHES, match

    threshold = step.settings["fuzzy_threshold"]
    matches = match(step.table("samples"), step.table("spans"), fuzzy_threshold=threshold)
    step.write_table("matches", matches, MATCHES)


run_step(snakemake, compute)
