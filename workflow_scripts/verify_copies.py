"""The candidate pairs that are copies, by their pixels."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare the images of each pair."""
    from clipaudit.copies.verified import PAIRS, verify_candidates
    from clipaudit.corpora.lookup import PictureReader

    own = dict(zip(step.settings["shards"], step.files("tars"), strict=True))
    others = dict(enumerate(step.files("other_tars")))
    candidates = step.table("candidates")
    pairs = verify_candidates(
        candidates,
        PictureReader(others),
        PictureReader(own),
        workers=step.workers,
    )
    step.write_tables("copies", pairs, PAIRS)


run_step(snakemake, compute)
