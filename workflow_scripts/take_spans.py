"""Precomputed text in the images of a part, joined to its samples."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Look up the part's samples."""
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.parrot.given_spans import take_spans
    from clipaudit.parrot.spans import SPANS

    shards, drops = step.settings["shards"], Drops("spot")
    given = step.between("given", "shard", shards[0], shards[-1])
    spans = take_spans(step.table("samples"), given, drops=drops, **step.settings["absence"])
    step.write_table("readings", spans, SPANS)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
