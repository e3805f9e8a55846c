"""Embeddings of the images of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Embed the images."""
    import pyarrow as pa

    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.embeddings.embedding import (
        embed_images,
        embeddings_schema,
        refuse_only_unusable,
    )
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
    rows = refuse_only_unusable(batches, drops, of=f"{name} ({asked.source(weights)})")
    schema = embeddings_schema(name, model.dimension)
    step.write_tables("embeddings", (pa.Table.from_batches([each]) for each in rows), schema)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
