"""The manifest of a part of a set: every other row says why it is not in."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Keep what the set takes."""
    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.parrot.criteria import Curation
    from clipaudit.parrot.curation import curate
    from clipaudit.parrot.curation_parts import above_threshold, read_parts

    held_out = step.settings_list(Curation, "held_out")
    threshold, field = step.settings["threshold"], step.settings["aesthetics_field"]
    repeated, shards = None, step.settings["shards"]
    if threshold is not None:
        own = step.between("duplicates", "shard", shards[0], shards[-1])
        repeated = above_threshold([own], threshold)
    (part,) = read_parts(step.tables, aesthetics_field=field, duplicates=repeated)
    manifest = curate(
        step.settings_as(Curation, "curation"),
        part,
        step.table("cut"),
        list(zip(held_out, step.tables("heldout"), strict=True)),
    )
    step.write_table("manifest", manifest, MANIFEST, pruning=step.settings["curation"]["name"])


run_step(snakemake, compute)
