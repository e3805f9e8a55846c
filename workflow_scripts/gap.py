"""The manifest of a part pruned to the gap of one test set, or of all."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Prune to the gap."""
    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.similarity.gap import prune_to_gap

    manifest = prune_to_gap(
        step.table("base"),
        step.table("similarities"),
        step.settings["test_sets"],
        margin=step.settings["margin"],
    )
    step.write_table("manifest", manifest, MANIFEST, pruning=step.settings["pruning"])


run_step(snakemake, compute)
