"""Which records of a source are A, B and the hold-out under a further seed."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw membership by lot once more."""
    from clipaudit.memorization.cuts import CUT, cut_again

    cut, seed = step.settings["cut"], step.settings["seed"]
    step.write_table("cut", cut_again(step.tables("members"), cut=cut, seed=seed), CUT)


run_step(snakemake, compute)
