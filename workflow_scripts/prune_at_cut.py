"""The manifest of a part without the samples that a cut removes."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Prune at the cut."""
    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.similarity.cuts import prune_at_cut
    from clipaudit.similarity.orders import Order

    settings, shards = step.settings, step.settings["shards"]
    if step.files("similarities"):
        ordered = step.table("similarities")
    else:
        ordered = step.between("duplicates", "shard", shards[0], shards[-1])
    order = step.settings_as(Order, "order")
    manifest = prune_at_cut(order, step.table("base"), ordered, step.table("cut"))
    step.write_table("manifest", manifest, MANIFEST, pruning=settings["pruning"])


run_step(snakemake, compute)
