"""The text in the images of a part, as the samples' JSON states it."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Read the spans."""
    from clipaudit.corpora.drops import DROPS, Drops
    from clipaudit.parrot.spans import SPANS
    from clipaudit.parrot.stated_spans import read_spans

    drops = Drops("spot")
    spans = read_spans(step.table("samples"), field=step.settings["field"], drops=drops)
    step.write_table("readings", spans, SPANS)
    step.write_table("drops", drops.table(), DROPS)


run_step(snakemake, compute)
