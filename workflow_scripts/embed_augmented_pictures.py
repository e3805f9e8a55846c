"""Embeddings of the images of a part, each cropped and mirrored in several ways."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Embed several versions of each image."""
    import pyarrow as pa

    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.memorization.augmented import augmented_schema
    from clipaudit.memorization.augmented_pictures import embed_augmented_pictures
    from clipaudit.models.device import use_device
    from clipaudit.models.encoders import ModelSettings
    from clipaudit.models.pictures import Running

    device = use_device(step.device, threads=step.threads)
    name, batch_size = step.settings["name"], step.settings["model"]["encoder"]["batch_size"]
    clip = step.settings_as(ModelSettings, "model").load(step.files("weights"))
    drops = Drops("embed augmented pictures")
    batches = embed_augmented_pictures(
        list(zip(step.settings["shards"], step.files("tars"), strict=True)),
        step.table("samples"),
        clip,
        Running(batch_size, step.decoders, device),
        encoder=name,
        versions=step.settings["versions"],
        seed=step.settings["seed"],
        drops=drops,
    )
    schema = augmented_schema(name, clip.dimension)
    step.write_tables("embeddings", (pa.Table.from_batches([rows]) for rows in batches), schema)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
