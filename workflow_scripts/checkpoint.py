"""A model of this workflow after an earlier epoch of its training."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Take the checkpoint that the training run kept."""
    epochs = step.settings["epochs"]
    step.adopt("checkpoint", "model", f"epochs/{epochs - 1:04d}", epoch=str(epochs - 1))


run_step(snakemake, compute)
