"""The similarity of the captions and images of a part's records."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare each caption with its own image."""
    from clipaudit.memorization.pair_tests import PAIR_SCORES, score_pairs

    scores = score_pairs(step.table("captions"), step.table("pictures"))
    step.write_table("scores", scores, PAIR_SCORES)


run_step(snakemake, compute)
