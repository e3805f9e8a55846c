"""Checks of one section of the settings against the others; each raises ValueError."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clipaudit.config.memorization import Memorization
from clipaudit.config.memorized import points

if TYPE_CHECKING:
    from clipaudit.config.run import Run


def known(name: str | None, names: Iterable[str], where: str, room: str) -> None:
    """Refuse a reference to something that the section `room` does not have."""
    if name is not None and name not in set(names):
        listed = ", ".join(sorted(names)) or "nothing"
        raise ValueError(f"{where}: {name!r} is not among {room} ({listed})")


def check_memorization(run: "Run", audit: Memorization) -> None:
    """Refuse a memorization audit that the other sections do not fit."""
    for name in audit.sources:
        where = f"memorization.sources.{name}"
        known(name, run.corpora, where, "corpora")
        if run.corpora[name].is_split:
            raise ValueError(f"{where}: a split, of which no sets are drawn; name its corpus")
    for name in [audit.recipe, *audit.seeds]:
        known(name, run.recipes, "memorization.recipe", "recipes")
    known(audit.encoder, run.encoders, "memorization.encoder", "encoders")
    for name in audit.baselines:
        known(name, run.encoders, "memorization.baselines", "encoders")
    for name in audit.utility:
        known(name, run.corpora, "memorization.utility", "corpora")
        if run.corpora[name].labels is None:
            raise ValueError(f"corpora.{name}.labels: a test set needs labels")
    for name, selection in audit.selections.items():
        known(selection.corpus, run.corpora, f"memorization.selections.{name}", "corpora")
    _check_points(run, audit)
    _check_one_deduplication(run, audit)


def _check_points(run: "Run", audit: Memorization) -> None:
    recipe = run.recipes[audit.recipe]
    names = {point.name for point in points(audit, recipe)}
    for point in audit.grid or []:
        known(point, names, "memorization.grid", "the points of its mitigations and sizes")
    for count in audit.mitigations.epochs:
        if count > recipe.epochs:
            raise ValueError(
                f"memorization.mitigations.epochs: {count}, but recipes.{audit.recipe} trains "
                f"{recipe.epochs} epochs; give a checkpoint before its end"
            )


def _check_one_deduplication(run: "Run", audit: Memorization) -> None:
    """A corpus that both audits deduplicate has one deduplicated manifest."""
    similarity = run.similarity
    if similarity is None or similarity.large not in audit.sources:
        return
    if audit.sources[similarity.large].duplicates != "semantic":
        return
    if (audit.deduplication, audit.encoder) != (similarity.deduplication, similarity.encoder):
        raise ValueError(
            f"{similarity.large}: both audits deduplicate it; give memorization and similarity the "
            "same encoder and the same section `deduplication`"
        )
