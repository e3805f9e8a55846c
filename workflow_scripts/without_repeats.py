"""The manifest of a part with one image of each group of duplicates."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Keep the first image of each group."""
    from clipaudit.copies.groups import without_repeats
    from clipaudit.corpora.manifests import MANIFEST, keep_all

    shards = step.settings["shards"]
    groups = step.between("groups", "shard", shards[0], shards[-1])
    samples = step.table("samples", columns=["shard", "row"])
    manifest = without_repeats(keep_all(samples), groups)
    step.write_table("manifest", manifest, MANIFEST, pruning="without-repeats")


run_step(snakemake, compute)
