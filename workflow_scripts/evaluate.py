"""A model's predictions for every image of every test set."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Predict the classes, one model load for all test sets."""
    from clipaudit.evaluation.evaluation import PREDICTIONS, evaluate, read_tasks
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    tasks = read_tasks(
        step.settings["tasks"],
        dict(zip(step.settings["class_files"], step.files("classes"), strict=True)),
        step.files("tars"),
        lambda name: step.table("samples", corpus=name),
    )
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    running = Running(step.settings["batch_size"], step.decoders, device)
    for name, predictions in evaluate(clip, tasks, running):
        step.write_table(name, predictions, PREDICTIONS, testset=name)


run_step(snakemake, compute)
