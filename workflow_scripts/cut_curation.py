"""Where the random order is cut, so that a set has its size."""

from functools import partial

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Find the cut over all parts."""
    from clipaudit.parrot.criteria import Curation
    from clipaudit.parrot.curation import CUT, Candidates
    from clipaudit.parrot.curation_parts import above_threshold, read_parts

    held_out = step.settings_list(Curation, "held_out")
    candidates = Candidates(
        step.settings_as(Curation, "curation"),
        list(zip(held_out, step.tables("heldout"), strict=True)),
    )
    words = next(iter(step.files("words")), None)
    threshold, field = step.settings["threshold"], step.settings["aesthetics_field"]
    repeated = None if threshold is None else above_threshold(step.tables("duplicates"), threshold)
    given = partial(step.between, "given_scores", "shard") if step.files("given_scores") else None
    parts = read_parts(
        step.tables, aesthetics_field=field, duplicates=repeated, given=given, words=words
    )
    for part in parts:
        candidates.add(part)
    # a set that leaves out no other is itself held out; others can be drawn without it
    step.write_table("cut", candidates.cut(or_none=not held_out), CUT)


run_step(snakemake, compute)
