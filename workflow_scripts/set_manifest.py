"""The manifest of a set, or of its first samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Mark every row of the base as in the set, or give the reason why not."""
    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.memorization.allotment import within_size
    from clipaudit.memorization.cuts import with_cut, within_cut
    from clipaudit.memorization.membership import manifest_of_set

    asked, shards = step.settings["chosen"], step.settings["shards"]
    name, size, drawn = asked["set"], asked["size"], step.settings["drawn"]
    allotted = step.between("allotment", "shard", shards[0], shards[-1])
    within = None
    if asked["cut"]:
        cut = step.between("cut", "shard", shards[0], shards[-1])
        allotted, within = with_cut(allotted, cut), within_cut(allotted, cut)
    elif size is not None:
        within = within_size(allotted, set=name, size=size, sizes=drawn)
    manifest = manifest_of_set(
        step.table("base"),
        allotted,
        step.table("overlaps"),
        set=name,
        group=step.settings["group"],
        corpus=step.settings["source"],
        within=within,
    )
    step.write_table("manifest", manifest, MANIFEST)


run_step(snakemake, compute)
