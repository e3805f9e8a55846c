"""Pairs of a test image and a training image that may be copies of each other."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search by digests, hashes, thumbnails and encoders."""
    from clipaudit.copies.candidates import CANDIDATES, Described, find_candidates
    from clipaudit.copies.embedded import embedded_sides
    from clipaudit.copies.search_limits import read_thresholds

    own = Described(step.table("images"), step.table("hashes"))
    others = Described(step.table("other_images"), step.table("other_hashes"))
    limits = read_thresholds(
        step.settings, step.labelled("thresholds"), step.labelled("encoder_thresholds")
    ).limits()
    embedded = embedded_sides(
        step.labelled("other_embeddings"),
        step.labelled("embeddings"),
        own.images,
        limits.similarity,
    )
    found = find_candidates(others, own, distance=limits.distance, embedded=embedded)
    step.write_table("candidates", found, CANDIDATES)


run_step(snakemake, compute)
