"""Embeddings of the captions of a part, each with one word removed."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Embed several versions of each caption."""
    import pyarrow as pa

    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.memorization.augmented import augmented_schema, embed_augmented
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings

    device = use_device(step.device, threads=step.threads)
    name, batch_size = step.settings["name"], step.settings["model"]["encoder"]["batch_size"]
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    drops = Drops("embed augmented")
    batches = embed_augmented(
        step.table("samples"),
        clip,
        encoder=name,
        versions=step.settings["versions"],
        seed=step.settings["seed"],
        batch_size=batch_size,
        device=device,
        drops=drops,
    )
    schema = augmented_schema(name, clip.dimension)
    step.write_tables("embeddings", (pa.Table.from_batches([rows]) for rows in batches), schema)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
