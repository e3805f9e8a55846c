"""The samples of a part of a corpus without pictures, its drops, and which bytes its files are."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """List the rows of the files."""
    from clipaudit.corpora.classes import captioning_of
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.corpora.listing import LISTED, list_samples, rows_in_file
    from clipaudit.corpora.shardlist import SHARDS, list_shards

    numbers, settings = step.settings["shards"], step.settings["captioning"]
    files = list(zip(numbers, step.files("files"), strict=True))
    drops = Drops("index")
    samples = list_samples(
        files,
        step.settings["columns"],
        captioning_of(settings, next(iter(step.files("classes")), None)),
        needs_caption=settings["source"] != "none",
        needs_label=settings["needs_label"],
        drops=drops,
    )
    step.write_tables("samples", samples, LISTED)
    step.write_table("drops", drops.table(), DROPS)
    rows = {number: rows_in_file(path) for number, path in files}
    step.write_table("shards", list_shards(numbers, step.digests("files"), rows), SHARDS)


run_step(snakemake, compute)
