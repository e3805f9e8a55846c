"""What hashes find of synthetic copies, and the distance to search within."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Make copies of some images, and look for them among the others."""
    from clipaudit.copies.calibrating import calibrate_hashes
    from clipaudit.copies.calibration import CALIBRATION
    from clipaudit.copies.originals import read_originals
    from clipaudit.copies.settings import Calibration
    from clipaudit.copies.thresholds import THRESHOLDS, default_rate

    asked = step.settings_as(Calibration, "calibration")
    originals = read_originals(
        step.labelled("samples"),
        step.files("tars"),
        step.settings["originals"],
        count=asked.images,
        seed=step.settings["seed"],
    )
    found = calibrate_hashes(
        originals,
        per_million=asked.false_positives or default_rate(step.rows("samples")),
        distance=step.settings["distance"],
        workers=step.workers,
    )
    step.write_table("calibration", found.calibration, CALIBRATION)
    step.write_table("thresholds", found.thresholds, THRESHOLDS)


run_step(snakemake, compute)
