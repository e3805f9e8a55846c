"""The similarity of captions and images of a part, raw and with text erased."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Score every image, as it is and erased."""
    from clipaudit.corpora.drops import DROPS, Drops, refuse_only_unusable
    from clipaudit.corpora.splits import select_rows
    from clipaudit.embeddings.embedding import NOT_FINITE
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.parrot.caption_scores import SCORES, score_captions

    device = use_device(step.device, threads=step.threads)
    drops = Drops("score captions")
    asked, weights = step.settings_as(ModelSettings, "model"), step.files("weights")
    clip = asked.load(weights)
    samples = step.table("samples")
    scores = score_captions(
        list(zip(step.settings["shards"], step.files("tars"), strict=True)),
        samples,
        select_rows(step.table("spans"), samples),
        select_rows(step.table("matches"), samples),
        clip,
        tokenization=step.settings["tokenization"],
        **step.settings["erasing"],
        batch_size=step.settings["model"]["encoder"]["batch_size"],
        workers=step.decoders,
        device=device,
        drops=drops,
    )
    rows = refuse_only_unusable(scores, drops, NOT_FINITE, of=asked.source(weights))
    step.write_tables("scores", rows, SCORES)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
