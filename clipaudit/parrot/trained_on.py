"""Find the encoders of the parrot-caption audit that were trained on the corpora they score."""

from collections.abc import Sequence

from clipaudit.config.settings import Settings


def trained_on(run: Settings, encoder: str) -> set[str]:
    """Return the training corpora of a model of this run, including those of its initial weights.

    An encoder from elsewhere gives an empty set: its training corpora are unknown.
    """
    manifests = (run.manifests().get(manifest, {}) for _, manifest in run.trainings(encoder))
    return {run.source(corpus) for members in manifests for corpus in members}


def training_notes(run: Settings, encoders: Sequence[str], corpora: Sequence[str]) -> list[str]:
    """Return a sentence for each encoder trained on some of the corpora that it scores."""
    notes = []
    for encoder in encoders:
        seen = trained_on(run, encoder)
        if titles := [run.title(corpus) for corpus in corpora if corpus in seen]:
            notes.append(
                f"Warning: {run.encoders[encoder].title or encoder} was trained on "
                f"{', '.join(titles)}, which it scores here: it knows these pairs, so its scores, "
                "RSA and RSC are not those of unseen pairs. Name another encoder in the section "
                "parrot."
            )
    return notes
