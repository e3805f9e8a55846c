"""The lot of every sample of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Hash captions or uids."""
    from clipaudit.memorization.lots import LOTS, draw_lots

    lots = draw_lots(step.table("samples"), step.table("base"), **step.settings)
    step.write_table("lots", lots, LOTS)


run_step(snakemake, compute)
