"""The drawn samples of a part that duplicate a record of A, B or the hold-out."""

from clipaudit.steps.workflow import Step, run_step


def compute(step: Step) -> None:
    """Compare uids, captions and, if there are embeddings, images."""
    from functools import partial
    from itertools import zip_longest

    from clipaudit.memorization.drawn_parts import DrawnPart, overlaps_of_part
    from clipaudit.memorization.overlaps import OVERLAPS
    from clipaudit.neighbors.backends import quicker_backend, search

    files = (step.labelled(name) for name in ("drawn", "samples", "embeddings"))
    parts = [
        DrawnPart(
            drawn.labels["source"],
            drawn.labels["part"],
            drawn.table,
            samples.table,
            pictures.batches if pictures else None,
        )
        for drawn, samples, pictures in zip_longest(*files)
    ]
    wanted = step.settings["source"], step.settings["part"]
    own = next(part for part in parts if (part.source, part.part) == wanted)
    about = 512  # dimensions of most CLIP models' embeddings
    quicker = quicker_backend(step.rows("embeddings"), step.rows("own"), about, device=step.device)
    backend = step.resource("backend", quicker)
    start = partial(search, k=2, backend=backend, device=step.device, threads=step.threads)
    found = overlaps_of_part(own, parts, distance=step.settings["distance"], start=start)
    step.write_table("overlaps", found, OVERLAPS)


run_step(snakemake, compute)
