"""The similarity of records' pairs, with versions of their captions or of their images."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare the versions of one side of each pair with its other side."""
    from clipaudit.memorization.pair_tests import PAIR_SCORES, score_augmented

    scores = score_augmented(step.table("versions"), step.table("others"))
    step.write_table("scores", scores, PAIR_SCORES)


run_step(snakemake, compute)
