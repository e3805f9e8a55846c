"""How similar the pictures of the records of a part are to their captions with a word less."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare the versions of each caption with its picture."""
    from clipaudit.memorization.pair_tests import PAIR_SCORES, score_augmented

    scores = score_augmented(step.table("versions"), step.table("pictures"))
    step.write_table("scores", scores, PAIR_SCORES)


run_step(snakemake, compute)
