"""What counts as text in a part's images, and how many caption words each image shows."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Drop text that does not count, and match captions with the rest."""
    from dataclasses import replace

    from clipaudit.parrot.caption_scripts import counted_scripts
    from clipaudit.parrot.counted_text import Counted, counted_text
    from clipaudit.parrot.matching import MATCHES, match
    from clipaudit.parrot.spans import SPANS

    counted = step.settings_as(Counted, "text")
    if step.files("scripts"):
        counted = replace(counted, scripts=counted_scripts(step.table("scripts")))
    spans = counted_text(step.table("readings"), counted)
    threshold = step.settings["fuzzy_threshold"]
    samples = step.table("samples", columns=["shard", "row", "caption"])
    matches = match(samples, spans, fuzzy_threshold=threshold)
    step.write_table("spans", spans, SPANS)
    step.write_table("matches", matches, MATCHES)


run_step(snakemake, compute)
