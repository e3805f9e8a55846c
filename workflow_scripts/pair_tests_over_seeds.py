"""Whether models know the pairs of a source that they were trained on, over random seeds."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Average the tests of the models of each seed."""
    from clipaudit.memorization.pair_tests_over_seeds import (
        PAIR_TESTS_OVER_SEEDS,
        pair_tests_over_seeds,
    )

    tests = {file.labels["encoder"]: file.table() for file in step.labelled("tests")}
    seeds = [[tests[encoder] for encoder in models] for models in step.settings["models"]]
    step.write_table("tests", pair_tests_over_seeds(seeds), PAIR_TESTS_OVER_SEEDS)


run_step(snakemake, compute)
