"""Checks the copies audit against the other sections of the settings."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.config.checks import check_own_training, known
from clipaudit.config.pictures import without_pictures
from clipaudit.copies.manifests import copies_manifests
from clipaudit.copies.settings import Copies

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def check(run: "Settings", audit: Copies) -> None:
    """Raise ValueError for a copies audit that does not fit the other sections."""
    known(audit.train, run.corpora, "copies.train", "corpora")
    for name in audit.test_sets:
        known(name, run.corpora, "copies.test_sets", "corpora")
    for name in audit.encoders:
        known(name, run.encoders, "copies.encoders", "encoders")
        chosen = copies_manifests(run, audit)
        check_own_training(run, name, chosen, "copies.encoders", audit.train)
    for name in audit.test_sets:
        if audit.train in (name, run.source(name)) or name == run.source(audit.train):
            raise ValueError(
                f"copies.test_sets: images of {name} are images of `train`, {audit.train}, so each "
                "would be its own copy; name another test set. `repeats` finds training images "
                "that repeat others"
            )


def pictured(audit: Copies) -> Iterator[tuple[str, str]]:
    """Yield the settings whose corpora must have images, with each corpus."""
    yield "copies.train", audit.train


def left_out(run: "Settings", audit: Copies) -> list[str]:
    """Return sentences that say what is left out for lack of images."""
    return list(without_pictures(run, audit.test_sets, "no copies of {them} are searched for."))
