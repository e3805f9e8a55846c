"""The samples of a part that repacked sets keep, read from its tars once for all sets."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Collect the samples."""
    import pyarrow.compute as pc

    from clipaudit.corpora.repacking import COLLECTED, Collection
    from clipaudit.corpora.splits import select_rows
    from clipaudit.parrot.spans import SPANS

    members = {
        file.labels["curated"]: file.table("shard", "row", "kept").filter(pc.field("kept"))
        for file in step.made("manifests")
    }
    shards = list(zip(step.settings["shards"], step.files("tars"), strict=True))
    collection = Collection(shards, members, step.table("samples"))
    step.write_pieces("collected", collection.blocks(), ".tar")
    places = collection.table()
    step.write_table("places", places, COLLECTED)
    step.write_table("spans", select_rows(step.table("spans"), places), SPANS)


run_step(snakemake, compute)
