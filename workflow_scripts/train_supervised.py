"""A classifier trained on a sealed manifest."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Train the classifier; the last epoch is the model."""
    from clipaudit.config.supervised import SupervisedRecipe
    from clipaudit.corpora.classes import read_classes
    from clipaudit.training.curves import CURVES
    from clipaudit.training.run import CHECKPOINT_STEPS
    from clipaudit.training.supervised import train_classifier

    recipe = step.settings_as(SupervisedRecipe, "recipe")

    def save_epoch(epoch: int, weights: bytes) -> None:
        if epoch == recipe.epochs - 1:
            step.write_bytes("model", weights, ".safetensors", epoch=str(epoch))

    curves = train_classifier(
        step.file("sealed"),
        step.file_digests.locate,
        recipe,
        classes=len(read_classes(step.files("classes")[0])),
        scratch=step.scratch,
        device=step.device,
        threads=step.threads,
        save_epoch=save_epoch,
        checkpoint_steps=step.resource("checkpoint_steps", CHECKPOINT_STEPS),
        processes=step.processes,
    )
    step.write_table("curves", curves, CURVES)


run_step(snakemake, compute)
