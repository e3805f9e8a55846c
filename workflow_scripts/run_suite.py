"""clip_benchmark's result of a model on one task of the suite."""

from pathlib import Path

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Run the task."""
    from clipaudit.evaluation.suite import METRICS, run_task
    from clipaudit.evaluation.suite_tasks import task_named
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    metrics = run_task(
        clip,
        task_named(step.settings["task"]),
        Path(step.settings["folder"]),
        Running(step.settings["batch_size"], step.decoders, device),
    )
    step.write_table("metrics", metrics, METRICS)


run_step(snakemake, compute)
