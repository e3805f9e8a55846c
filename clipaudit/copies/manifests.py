"""Names the manifests that the copies audit makes."""

from typing import TYPE_CHECKING

from clipaudit.config.pictures import has_pictures
from clipaudit.copies.settings import Copies

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings

WITHOUT_COPIES, WITHOUT_REPEATS = "without-copies", "without-repeats"


def searched_sets(run: "Settings", audit: Copies) -> list[str]:
    """Return the test sets that have images: those that can be searched for."""
    return [name for name in audit.test_sets if has_pictures(run, name)]


def planted_sets(run: "Settings", audit: Copies) -> list[str]:
    """Return the searched test sets whose copies a synthetic world states: not splits.

    A world states which image of a corpus each copy repeats, and knows no splits.
    """
    return [name for name in searched_sets(run, audit) if run.corpora[name].of is None]


def copies_prunings(run: "Settings", audit: Copies) -> list[str]:
    """Return the prunings of the training corpus that the audit makes.

    There are none if only a sample was searched: the other images may also be copies.
    """
    if audit.sample is not None:
        return []
    found = [WITHOUT_COPIES] if searched_sets(run, audit) else []
    return [*found, WITHOUT_REPEATS] if audit.repeats else found


def copies_manifests(run: "Settings", audit: Copies) -> dict[str, dict[str, str]]:
    """Return the manifests of the audit: the corpora of their rows, and how each is pruned."""
    return {
        f"{audit.train}-{pruning}": {audit.train: pruning}
        for pruning in copies_prunings(run, audit)
    }
