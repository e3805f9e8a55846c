"""Where the random order is cut so that as many samples stay as in a pruned manifest."""

from clipaudit.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find the cut."""
    from clipaudit.similarity.randomly import CUT, cut_like

    cut = cut_like(lambda: step.tables("manifests"), seed=step.settings["seed"])
    step.write_table("cut", cut, CUT)


run_step(snakemake, compute)
