"""Embeddings of the images of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Embed the images."""
    import pyarrow as pa

    from clipaudit.corpora.drops import DROPS, Drops, refuse_only_unusable
    from clipaudit.embeddings.embedding import NOT_FINITE, embed_images, embeddings_schema
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    name, batch_size = step.settings["name"], step.settings["model"]["encoder"]["batch_size"]
    asked = step.settings_as(ModelSettings, "model")
    weights = step.files("weights")
    model = asked.embedder(weights, device=device)
    drops = Drops("embed")
    batches = embed_images(
        list(zip(step.settings["shards"], step.files("tars"), strict=True)),
        step.table("samples"),
        model,
        Running(batch_size, step.decoders, device),
        encoder=name,
        drops=drops,
    )
    source = f"{name} ({asked.source(weights)})"
    rows = refuse_only_unusable(batches, drops, NOT_FINITE, of=source)
    schema = embeddings_schema(name, model.dimension)
    step.write_tables("embeddings", (pa.Table.from_batches([each]) for each in rows), schema)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
