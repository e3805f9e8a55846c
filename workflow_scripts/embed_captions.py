"""Embeddings of the captions of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Embed the captions."""
    import pyarrow as pa

    from clipaudit.corpora.drops import DROPS, Drops, refuse_only_unusable
    from clipaudit.embeddings.caption_embedding import embed_captions
    from clipaudit.embeddings.embedding import NOT_FINITE, embeddings_schema
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings

    device = use_device(step.device, threads=step.threads)
    name, batch_size = step.settings["name"], step.settings["model"]["encoder"]["batch_size"]
    asked, weights = step.settings_as(ModelSettings, "model"), step.files("weights")
    clip = asked.load(weights)
    drops = Drops("embed captions")
    batches = embed_captions(
        step.table("samples"),
        clip,
        encoder=name,
        batch_size=batch_size,
        device=device,
        drops=drops,
    )
    source = f"{name} ({asked.source(weights)})"
    rows = refuse_only_unusable(batches, drops, NOT_FINITE, of=source)
    schema = embeddings_schema(name, clip.dimension)
    step.write_tables("embeddings", (pa.Table.from_batches([each]) for each in rows), schema)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
