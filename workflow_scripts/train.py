"""A CLIP model trained on a sealed manifest."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Train the model; the last epoch is the model, and requested epochs are kept."""
    from functools import partial

    from clipaudit.config.training import Architecture, Recipe
    from clipaudit.training.curves import CURVES
    from clipaudit.training.launch import train_in_processes
    from clipaudit.training.run import CHECKPOINT_STEPS, train

    recipe = step.settings_as(Recipe, "recipe")

    def save_epoch(epoch: int, weights: bytes) -> None:
        last = epoch == recipe.epochs - 1
        name = "model" if last else f"epochs/{epoch:04d}"
        if last or epoch + 1 in step.settings["kept_epochs"]:
            step.write_bytes(name, weights, ".safetensors", epoch=str(epoch))

    several = partial(train_in_processes, step.processes, nodes=step.nodes)
    run = several if step.processes > 1 else train
    curves = run(
        step.file("sealed"),
        step.file_digests.locate,
        step.settings_as(Architecture, "architecture"),
        recipe,
        initial=next(iter(step.files("start")), None),
        scratch=step.scratch,
        device=step.device,
        threads=step.threads,
        save_epoch=save_epoch,
        checkpoint_steps=step.resource("checkpoint_steps", CHECKPOINT_STEPS),
        at_once=step.at_once,
    )
    step.write_table("curves", curves, CURVES)


run_step(snakemake, compute)
