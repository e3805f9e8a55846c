"""The similarity of captions and held-out images, raw and with text erased."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Score every image, as it is and erased."""
    from clipaudit.corpora.drops import DROPS, Drops, refuse_only_unusable
    from clipaudit.corpora.sealed import Sealed
    from clipaudit.embeddings.embedding import NOT_FINITE
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.parrot.heldout_scores import HELDOUT_SCORES, score_heldout
    from clipaudit.parrot.settings import Erasing

    device = use_device(step.device, threads=step.threads)
    drops, locate = Drops("score captions"), step.file_digests.locate
    asked, weights = step.settings_as(ModelSettings, "model"), step.files("weights")
    scores = score_heldout(
        [(shard.number, locate(shard.sha256)) for shard in Sealed(step.file("sealed"))],
        step.table("sources"),
        [step.table(name) for name in ("samples", "spans", "matches")],
        asked.load(weights),
        tokenization=step.settings["tokenization"],
        erasing=step.settings_as(Erasing, "erasing"),
        batch_size=step.settings["model"]["encoder"]["batch_size"],
        workers=step.decoders,
        device=device,
        drops=drops,
    )
    rows = refuse_only_unusable(scores, drops, NOT_FINITE, of=asked.source(weights))
    step.write_tables("scores", rows, HELDOUT_SCORES)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
