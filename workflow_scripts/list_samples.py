"""The samples of a part of a corpus without images, its drops, and the hashes of its files."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """List the rows of the files."""
    from clipaudit.corpora.classes import CaptionSettings
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.corpora.labels import LabelSettings
    from clipaudit.corpora.listing import LISTED, list_samples, rows_in_file
    from clipaudit.corpora.shardlist import SHARDS, list_shards

    numbers, asked = step.settings["shards"], step.settings_as(CaptionSettings, "captioning")
    files = list(zip(numbers, step.files("files"), strict=True))
    drops = Drops("index")
    samples = list_samples(
        files,
        step.settings["columns"],
        asked.captioning(next(iter(step.files("classes")), None)),
        needs_caption=asked.needs_caption,
        needs_label=asked.needs_label,
        drops=drops,
    )
    step.write_tables("samples", samples, LISTED)
    if step.settings["labels"]:
        labels = step.settings_as(LabelSettings, "labels")
        listed = LISTED.empty_table()  # `classes` is for test sets, which have images
        labels.check(listed, step.file("classes"), step.files("mapped"), drops.table())
    step.write_table("drops", drops.table(), DROPS)
    rows = {number: rows_in_file(path) for number, path in files}
    step.write_table("shards", list_shards(numbers, step.digests("files"), rows), SHARDS)


run_step(snakemake, compute)
