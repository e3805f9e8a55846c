"""A classifier's predictions for every image of every test set of its classes."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Predict the classes, one model load for all test sets."""
    from clipaudit.corpora.classes import read_classes
    from clipaudit.corpora.labels import read_label_maps
    from clipaudit.evaluation.evaluation import PREDICTIONS, evaluate_classifier, read_tasks
    from clipaudit.models.classifiers import ClassifierSettings
    from clipaudit.models.device import use_device
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    tasks = read_tasks(
        step.settings["tasks"],
        dict(zip(step.settings["class_files"], step.files("classes"), strict=True)),
        step.files("tars"),
        lambda name: step.table("samples", corpus=name),
    )
    learned = read_classes(step.file("learned"))
    maps = read_label_maps(
        step.settings["label_maps"],
        step.files("label_maps"),
        labels={task.name: len(task.classes) for task in tasks},
        learned=learned,
    )
    asked = step.settings_as(ClassifierSettings, "model")
    classifier = asked.load(step.files("weights"), classes=len(learned))
    running = Running(step.settings["batch_size"], step.decoders, device)
    for name, predictions in evaluate_classifier(classifier, tasks, running, maps):
        step.write_table(name, predictions, PREDICTIONS, testset=name)


run_step(snakemake, compute)
