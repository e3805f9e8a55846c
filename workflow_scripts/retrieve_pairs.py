"""How well a model retrieves a corpus's images by caption, and captions by image."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Rank images and captions."""
    from clipaudit.evaluation.pair_retrieval import PAIR_RANKS, retrieve_pairs
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    ranks = retrieve_pairs(
        clip,
        step.settings["corpus"],
        list(enumerate(step.files("tars"))),
        step.table("samples"),
        Running(step.settings["batch_size"], step.decoders, device),
        several=step.settings["several"],
    )
    step.write_table("ranks", ranks, PAIR_RANKS)


run_step(snakemake, compute)
