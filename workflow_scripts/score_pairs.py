"""How similar the captions and the pictures of the records of a part are."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare each caption with its own picture."""
    from clipaudit.memorization.pair_tests import PAIR_SCORES, score_pairs

    scores = score_pairs(step.table("captions"), step.table("pictures"))
    step.write_table("scores", scores, PAIR_SCORES)


run_step(snakemake, compute)
