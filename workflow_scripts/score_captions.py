"""How similar captions are to the pictures of a part, raw and with text erased."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Score every picture, as it is and erased."""
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.corpora.splits import select_rows
    from clipaudit.models.clip import use_device
    from clipaudit.models.encoders import load_from_settings
    from clipaudit.parrot.caption_scores import SCORES, score_captions

    device = use_device(step.device, threads=step.threads)
    settings, drops = step.settings["model"], Drops("score captions")
    clip = load_from_settings(**settings, weights=step.files("weights"))
    samples = step.table("samples")
    scores = score_captions(
        list(zip(step.settings["shards"], step.files("tars"), strict=True)),
        samples,
        select_rows(step.table("spans"), samples),
        select_rows(step.table("matches"), samples),
        clip,
        tokenization=step.settings["tokenization"],
        **step.settings["erasing"],
        batch_size=settings["encoder"]["batch_size"],
        workers=step.resource("workers", 0),
        device=device,
        drops=drops,
    )
    step.write_tables("scores", scores, SCORES)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
