"""Which galleries the copies audit has, and what they are made from."""

from typing import Literal

from clipaudit.config.settings import Settings
from clipaudit.copies.manifests import searched_sets
from clipaudit.copies.pair_options import PairOptions
from clipaudit.copies.settings import Copies
from clipaudit.reports.specification import Gallery, gallery_of, part_files


def copies_galleries(run: Settings) -> dict[str, Gallery]:
    """Return the galleries that the settings ask for, by name: pairs of each test set, repeats."""
    audit = run.section(Copies)
    if audit is None:
        return {}
    found = {}
    for name in searched_sets(run, audit):
        found[f"copies_of_{name}"] = _copies(run, audit, name)
        found[f"copies_lookalikes_{name}"] = _lookalikes(run, audit, name)
    if audit.repeats:
        found["copies_repeats"] = _repeats(run, audit)
    return found


def _copies(run: Settings, audit: Copies, name: str) -> Gallery:
    caption = (
        f"Images of {run.title(name)} (left) and copies of them in {run.title(audit.train)} "
        "(right): the nearest copy of each test image, places shared among the kinds."
    )
    title = f"Images of {run.title(name)} and their copies in {run.title(audit.train)}"
    return _gallery(run, audit, name, "copies", caption, title)


def _lookalikes(run: Settings, audit: Copies, name: str) -> Gallery:
    caption = (
        f"Images of {run.title(name)} (left) and images of {run.title(audit.train)} (right) that "
        "are candidates but, by their pixels, not copies; the pairs that agree most. Agreement is "
        "measured after alignment. Simple drawings may agree fully and still not be "
        "copies: one is elsewhere in its frame, or larger, or rotated."
    )
    title = f"Images that look like those of {run.title(name)} but are not copies"
    return _gallery(run, audit, name, "lookalikes", caption, title)


def _repeats(run: Settings, audit: Copies) -> Gallery:
    caption = (
        f"Images of {run.title(audit.train)} (right) that repeat an earlier one (left): the "
        "nearest repeat of each earlier image, places shared among the kinds."
    )
    title = f"Images of {run.title(audit.train)} that repeat another one"
    return _gallery(run, audit, audit.train, "copies", caption, title, folder="repeats")


def _gallery(
    run: Settings,
    audit: Copies,
    other: str,
    which: Literal["copies", "lookalikes"],
    caption: str,
    title: str,
    folder: str | None = None,
) -> Gallery:
    options = PairOptions(
        which,
        other,
        run.title(other),
        audit.train,
        run.title(audit.train),
        audit.shown,
    )
    inputs = {"copies": part_files(run, folder or f"copies/{other}", [audit.train])}
    corpora = list(dict.fromkeys([other, audit.train]))
    return gallery_of(
        run,
        corpora,
        options=options,
        inputs=inputs,
        caption=caption,
        title=title,
        says=("kind", "edits"),
    )
