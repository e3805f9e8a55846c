"""The scripts that the captions of a corpus are written in."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Count the letters of some captions of each shard."""
    from clipaudit.parrot.caption_scripts import CAPTION_SCRIPTS, caption_scripts

    samples = step.tables("samples", columns=["shard", "caption"])
    step.write_table("scripts", caption_scripts(samples), CAPTION_SCRIPTS)


run_step(snakemake, compute)
