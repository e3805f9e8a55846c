"""What models recall beyond what captions alone reveal, over random seeds."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Average the tests of the model of each seed."""
    from clipaudit.memorization.one_model_over_seeds import (
        ONE_MODEL_OVER_SEEDS,
        one_model_over_seeds,
    )

    found = one_model_over_seeds(list(step.tables("tests")))
    step.write_table("tests", found, ONE_MODEL_OVER_SEEDS)


run_step(snakemake, compute)
