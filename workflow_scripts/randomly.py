"""The manifest of a part drawn at random, of the size of a pruned one."""

from clipaudit.workflow import Step, run_step


def compute(step: Step) -> None:
    """Draw what is kept."""
    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.similarity.randomly import prune_randomly

    settings = step.settings
    drawn = prune_randomly(step.table("manifest"), step.table("cut"), seed=settings["seed"])
    step.write_table("manifest", drawn, MANIFEST, pruning=settings["pruning"])


run_step(snakemake, compute)
