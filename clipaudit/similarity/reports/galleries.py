"""Defines the galleries of the similarity audit and their inputs.

They are the paper's Figures 1, 2 (its Section 3) and 15 to 26 (Appendix G). Figures 15 to 20 become
one per test set, `similarity_fig15_<test set>`; 21 to 26 become `similarity_fig21_<test set>`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clipaudit.config.settings import Settings
from clipaudit.reports.gallery_options import NeighborOptions, ShownSet
from clipaudit.reports.specification import Gallery, gallery_of, part_files
from clipaudit.similarity.reports.neighbors import (
    calibrated,
    neighbors_in_web,
    small_of,
    train_sets,
    web_title,
)
from clipaudit.similarity.settings import Similarity
from clipaudit.steps import paths

OVERVIEW_QUERIES = 2  # Figure 1: images of each of its test sets
LADDER = 8  # test images of Figure 2


@dataclass(frozen=True)
class SearchedShown(ShownSet):
    """A set whose samples are shown, and the pointer of its neighbors."""

    neighbors: str  # relative to results/


def similarity_galleries(run: Settings) -> dict[str, Gallery]:
    """Return the galleries that the settings ask for, by name, in the paper's order."""
    audit = run.section(Similarity)
    if audit is None or audit.galleries is None:
        return {}
    queries = audit.galleries.queries
    found = {
        "fig1": _before(run, audit, audit.shown_first, OVERVIEW_QUERIES),
        "fig2": _ladder(run, audit),
        **{f"fig15_{name}": _before(run, audit, [name], queries) for name in audit.test_sets},
    }
    if audit.small is not None:
        found |= {f"fig21_{name}": _after(run, audit, name, queries) for name in audit.test_sets}
    return {f"similarity_{name}": gallery for name, gallery in found.items()}


def _before(run: Settings, audit: Similarity, names: Sequence[str], queries: int) -> Gallery:
    """Return Figure 1, or one of 15 to 20: random test images, in both train sets."""
    sets = [_whole(run, audit, corpus) for corpus in train_sets(audit)]
    caption = f"{_nearest(run, names, sets)} {_ORDER}"
    tests = _listed([run.title(name) for name in names])
    title = f"Test images of {tests}, and the training images nearest to them"
    return _gallery(run, audit, names, sets, caption, title, queries=queries)


def _ladder(run: Settings, audit: Similarity) -> Gallery:
    """Return Figure 2: pairs of images from the lowest to the highest similarity."""
    name = audit.near_far.queries[0] if audit.near_far else audit.test_sets[0]
    large = _whole(run, audit, audit.large)
    caption = (
        f"Test images of {run.title(name)} (top row), joined by their similarity to the nearest "
        f"image in {large.title} (bottom row), from the lowest similarity to the highest."
    )
    title = f"From the least to the most similar: images of {run.title(name)} in {large.title}"
    return _gallery(run, audit, [name], [large], caption, title, form="ladder", queries=LADDER)


def _after(run: Settings, audit: Similarity, name: str, queries: int) -> Gallery:
    """Return one of Figures 21 to 26: what pruning to the gap removes."""
    pruning = f"{name}-pruned"
    small = _whole(run, audit, small_of(audit))
    web = SearchedShown(web_title(run, audit), audit.large, neighbors_in_web(audit))
    kept = SearchedShown(
        pruning, audit.large, paths.kept_neighbors(audit.encoder, pruning, audit.large)
    )
    sets = [small, web, kept]
    caption = (
        f"{_nearest(run, [name], sets)} They are drawn from the test images that are more similar "
        f"to {web.title} than to {small.title}; {pruning} is {web.title} pruned to the gaps of "
        f"{run.title(name)}. {_ORDER}"
    )
    nearer = (sets.index(web), sets.index(small))
    title = f"What pruning to the gaps of {run.title(name)} removes"
    return _gallery(run, audit, [name], sets, caption, title, queries=queries, nearer=nearer)


_ORDER = "Similarity decreases from left to right; near duplicates among the neighbors are omitted."


def _nearest(run: Settings, names: Sequence[str], sets: Sequence[SearchedShown]) -> str:
    tests, searched = _listed([run.title(name) for name in names]), _listed([s.title for s in sets])
    return f"Random test images of {tests}, and their nearest neighbors in {searched}."


def _listed(names: Sequence[str]) -> str:
    """Return names as a text lists them.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _whole(run: Settings, audit: Similarity, corpus: str) -> SearchedShown:
    return SearchedShown(run.title(corpus), corpus, paths.neighbors(audit.encoder, corpus))


def _gallery(
    run: Settings,
    audit: Similarity,
    names: Sequence[str],
    sets: Sequence[SearchedShown],
    caption: str,
    title: str,
    *,
    queries: int,
    form: Literal["rows", "ladder"] = "rows",
    nearer: tuple[int, int] | None = None,
) -> Gallery:
    """Return a gallery of `queries` samples of each test set.

    `nearer` are the positions of two sets: only test samples nearer to the first are taken.
    """
    assert audit.galleries is not None, "asked for galleries that the settings leave off"
    searched = list(dict.fromkeys(each.corpus for each in sets))
    options = NeighborOptions(
        form,
        testsets=tuple(ShownSet(run.title(name), name) for name in names),
        sets=tuple(ShownSet(each.title, each.corpus) for each in sets),
        count=queries,
        columns=1 if form == "ladder" else audit.galleries.columns,
        near_duplicate_distance=audit.given_distance,
        seed=audit.galleries.seed,
        nearer=nearer,
    )
    inputs = {
        "neighbors": [each.neighbors for each in sets],
        "embeddings": part_files(run, f"embeddings/{audit.encoder}", searched),
    }
    if audit.given_distance is None:
        inputs["calibrated"] = calibrated(audit)
    shown = [*names, *searched]
    return gallery_of(
        run,
        shown,
        options=options,
        inputs=inputs,
        caption=caption,
        title=title,
        says=("similarity",),
    )
