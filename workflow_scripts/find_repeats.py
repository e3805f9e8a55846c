"""Pairs of a training image and an earlier one that may be copies of each other."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search by digests, hashes, thumbnails and encoders."""
    from clipaudit.copies.candidates import CANDIDATES, Described
    from clipaudit.copies.repeats import find_repeats
    from clipaudit.copies.search_limits import read_thresholds

    found = find_repeats(
        Described(step.table("other_images"), step.table("other_hashes")),
        Described(step.table("images"), step.table("hashes")),
        read_thresholds(
            step.settings,
            step.labelled("thresholds"),
            step.labelled("encoder_thresholds"),
            by_images=step.settings["by_images"],
        ),
        earlier_embeddings=step.labelled("other_embeddings"),
        embeddings=step.labelled("embeddings"),
    )
    step.write_table("candidates", found, CANDIDATES)


run_step(snakemake, compute)
