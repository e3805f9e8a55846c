"""What an encoder finds of synthetic copies, and the similarity threshold to use."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Make copies of some images, and look for them among the others."""
    from clipaudit.copies.calibrating import calibrate_encoder
    from clipaudit.copies.calibration import CALIBRATION
    from clipaudit.copies.originals import read_originals
    from clipaudit.copies.settings import Calibration
    from clipaudit.copies.thresholds import THRESHOLDS, default_rate
    from clipaudit.embeddings.embedding import embed_arrays
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings

    asked = step.settings_as(Calibration, "calibration")
    device = use_device(step.device, threads=step.threads)
    asked_model = step.settings_as(ModelSettings, "model")
    model = asked_model.embedder(step.files("weights"), device=device)
    originals = read_originals(
        step.labelled("samples"),
        step.files("tars"),
        step.settings["originals"],
        count=asked.images,
        seed=step.settings["seed"],
    )
    found = calibrate_encoder(
        step.settings["name"],
        originals,
        lambda images: embed_arrays(images, model),
        per_million=asked.false_positives or default_rate(step.rows("samples")),
        similarity=step.settings["similarity"],
    )
    step.write_table("calibration", found.calibration, CALIBRATION)
    step.write_table("thresholds", found.thresholds, THRESHOLDS)


run_step(snakemake, compute)
