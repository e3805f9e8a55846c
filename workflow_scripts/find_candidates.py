"""Pairs of images that may be copies of each other."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Search by digests, hashes, thumbnails and encoders."""
    from clipaudit.copies.candidates import CANDIDATES, Described, find_candidates
    from clipaudit.copies.embedded import embedded_sides
    from clipaudit.copies.thresholds import ADVISED_DISTANCE, threshold_among

    own = Described(step.table("images"), step.table("hashes"))
    others = Described(step.table("other_images"), step.table("other_hashes"))
    images = len(others.images) if step.settings["rate_by_images"] else None
    distance = step.settings["distance"]
    if step.files("thresholds"):
        chosen = threshold_among(step.table("thresholds"), images, advised=ADVISED_DISTANCE)
        distance = None if chosen is None else int(chosen)
    similarity = dict(step.settings["similarity"])
    for file in step.labelled("encoder_thresholds"):
        similarity[file.labels["encoder"]] = threshold_among(file.table(), images)
    embedded = embedded_sides(
        step.labelled("other_embeddings"), step.labelled("embeddings"), own.images, similarity
    )
    candidates = find_candidates(
        others, own, distance=distance, embedded=embedded, within=step.settings["within"]
    )
    step.write_table("candidates", candidates, CANDIDATES)


run_step(snakemake, compute)
