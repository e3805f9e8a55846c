"""The manifest of a part without the duplicates of other samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Drop the duplicates."""
    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.deduplication.deduplication import deduplicate

    settings, shards = step.settings, step.settings["shards"]
    duplicates = step.between("duplicates", "shard", shards[0], shards[-1])
    manifest = deduplicate(step.table("base"), [duplicates], threshold=settings["threshold"])
    step.write_table("manifest", manifest, MANIFEST, pruning="deduplicated")


run_step(snakemake, compute)
