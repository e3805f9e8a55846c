"""The samples of a part, its drops, and the hashes of its shards."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Index the shards."""
    from clipaudit.corpora.classes import CaptionSettings
    from clipaudit.corpora.drops import DROPS
    from clipaudit.corpora.labels import LabelSettings
    from clipaudit.corpora.manifests import rows_in_tars
    from clipaudit.corpora.samples import SAMPLES, index_shards
    from clipaudit.corpora.shardlist import SHARDS, list_shards

    numbers, asked = step.settings["shards"], step.settings_as(CaptionSettings, "captioning")
    samples, drops = index_shards(
        list(zip(numbers, step.files("tars"), strict=True)),
        asked.captioning(next(iter(step.files("classes")), None)),
        needs_caption=asked.needs_caption,
        needs_label=asked.needs_label,
    )
    if step.settings["labels"]:
        labels = step.settings_as(LabelSettings, "labels")
        labels.check(samples, step.file("classes"), step.files("mapped"), drops)
    rows = rows_in_tars(samples, drops)
    step.write_table("samples", samples, SAMPLES)
    step.write_table("drops", drops, DROPS)
    step.write_table("shards", list_shards(numbers, step.digests("tars"), rows), SHARDS)


run_step(snakemake, compute)
