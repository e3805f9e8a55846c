"""The records of a source in A, B and the hold-out under another random seed."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw membership by lot again."""
    import pyarrow.compute as pc

    from clipaudit.memorization.cuts import CUT, cut_again

    sizes = {
        name: sum(pc.sum(table["kept"]).as_py() or 0 for table in step.tables(f"kept_{name}"))
        for name in ("a", "b", "holdout")
    }
    cut, seed = step.settings["cut"], step.settings["seed"]
    step.write_table("cut", cut_again(step.tables("samples"), sizes, cut=cut, seed=seed), CUT)


run_step(snakemake, compute)
