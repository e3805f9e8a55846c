"""The candidate caption that a model finds nearest, for every image."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Choose captions, one model load for all sets."""
    from itertools import islice

    from clipaudit.evaluation.selection import SELECTIONS, select_captions
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    running = Running(step.settings["batch_size"], step.decoders, device)
    tars = iter(step.files("tars"))
    for each in step.settings["sets"]:
        selections = select_captions(
            clip,
            each["corpus"],
            list(enumerate(islice(tars, each["shards"]))),
            step.table("samples", corpus=each["corpus"]),
            running,
        )
        step.write_table(each["name"], selections, SELECTIONS, selection=each["name"])


run_step(snakemake, compute)
