"""What a classifier predicts for every image of every test set that has its classes."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Predict the classes, one model load for all test sets."""
    from clipaudit.evaluation.evaluation import PREDICTIONS, evaluate_classifier, read_tasks
    from clipaudit.models.classifiers import ClassifierSettings
    from clipaudit.models.clip import use_device
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    tasks = read_tasks(
        step.settings["tasks"],
        dict(zip(step.settings["class_files"], step.files("classes"), strict=True)),
        step.files("tars"),
        lambda name: step.table("samples", corpus=name),
    )
    asked = step.settings_as(ClassifierSettings, "model")
    classifier = asked.load(step.files("weights"), classes=len(tasks[0].classes))
    running = Running(step.settings["batch_size"], step.decoders, device)
    for name, predictions in evaluate_classifier(classifier, tasks, running):
        step.write_table(name, predictions, PREDICTIONS, testset=name)


run_step(snakemake, compute)
