"""The manifests of a part of some sets: every other row has the reason for its removal."""

from functools import partial

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Keep the samples of each set."""
    from clipaudit.corpora.manifests import MANIFEST
    from clipaudit.errors import TooSmall
    from clipaudit.parrot.criteria import Curation
    from clipaudit.parrot.curation import curate
    from clipaudit.parrot.curation_parts import above_threshold, read_parts

    held_out = step.settings_list(Curation, "held_out")
    cuts = list(zip(held_out, step.tables("heldout"), strict=True))
    threshold, field = step.settings["threshold"], step.settings["aesthetics_field"]
    repeated, shards = None, step.settings["shards"]
    if threshold is not None:
        own = step.between("duplicates", "shard", shards[0], shards[-1])
        repeated = above_threshold([own], threshold)
    given = partial(step.between, "given_scores", "shard") if step.files("given_scores") else None
    words = next(iter(step.files("words")), None)
    (part,) = read_parts(
        step.tables, aesthetics_field=field, duplicates=repeated, given=given, words=words
    )
    for output in step.settings["curations"]:
        curation = step.settings_as(Curation, "curations", output)
        try:
            manifest = curate(curation, part, step.table(f"{output}_cut"), cuts)
        except TooSmall as reason:
            step.leave_out(output, reason)
            continue
        name = curation.name
        step.write_table(output, manifest, MANIFEST, curated=name, pruning=name)


run_step(snakemake, compute)
