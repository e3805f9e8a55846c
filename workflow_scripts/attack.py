"""A model's predictions for test images with a wrong class name printed on them."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Print names on the images of test sets that have none, with one model load for all."""
    from clipaudit.evaluation.evaluation import read_tasks
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.models.pictures import Running
    from clipaudit.parrot.attack import ATTACKED, attack, attack_stated
    from clipaudit.parrot.synthetic import Typeface, dejavu_sans

    device = use_device(step.device, threads=step.threads)
    tasks = read_tasks(
        step.settings["tasks"],
        dict(zip(step.settings["class_files"], step.files("classes"), strict=True)),
        step.files("tars"),
        lambda name: step.table("samples", corpus=name),
    )
    font, stated = step.files("font"), step.settings["stated"]
    typeface = Typeface(font[0].read_bytes()) if font else dejavu_sans()
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    running = Running(step.settings["batch_size"], step.decoders, device)
    smallest, largest = step.settings["type_size"]
    for task in tasks:
        if task.name in stated:
            table = attack_stated(clip, task, running, field=stated[task.name])
        else:
            table = attack(
                clip,
                task,
                running,
                typeface=typeface,
                type_size=(smallest, largest),
                seed=step.settings["seed"],
            )
        step.write_table(task.name, table, ATTACKED, testset=task.name)


run_step(snakemake, compute)
