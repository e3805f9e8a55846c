"""The digests, hashes and thumbnails of the images of a part."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Hash the images that are searched."""
    from clipaudit.copies.hashing import HASHES, IMAGES, hash_images
    from clipaudit.copies.sampling import sampled
    from clipaudit.copies.views import test_views, train_views

    samples = step.table("samples", columns=["shard", "row"])
    if step.files("sample"):
        samples = sampled(samples, step.table("sample"), seed=step.settings["seed"])
    shards = list(zip(step.settings["shards"], step.files("tars"), strict=True))
    views = {"train": train_views, "test": test_views}[step.settings["views"]]
    images, hashes = hash_images(shards, samples, views, workers=step.workers)
    step.write_table("images", images, IMAGES)
    step.write_table("hashes", hashes, HASHES)


run_step(snakemake, compute)
