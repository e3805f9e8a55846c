"""The similarity of captions and held-out images, raw and with text erased."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Score every image, as it is and erased."""
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.corpora.sealed import Sealed
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.parrot.heldout_scores import HELDOUT_SCORES, score_heldout
    from clipaudit.parrot.settings import Erasing

    device = use_device(step.device, threads=step.threads)
    drops, locate = Drops("score captions"), step.file_digests.locate
    scores = score_heldout(
        [(shard.number, locate(shard.sha256)) for shard in Sealed(step.file("sealed"))],
        step.table("sources"),
        [step.table(name) for name in ("samples", "spans", "matches")],
        step.settings_as(ModelSettings, "model").load(step.files("weights")),
        tokenization=step.settings["tokenization"],
        erasing=step.settings_as(Erasing, "erasing"),
        batch_size=step.settings["model"]["encoder"]["batch_size"],
        workers=step.decoders,
        device=device,
        drops=drops,
    )
    step.write_tables("scores", scores, HELDOUT_SCORES)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
