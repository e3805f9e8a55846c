"""The declaration of the memorization audit."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.config.audits import Audit
from clipaudit.config.checks import known
from clipaudit.config.corpora import Corpus
from clipaudit.config.deduplication import Deduplication
from clipaudit.config.training import Encoder, Recipe
from clipaudit.memorization.points import (
    derived_corpora,
    derived_encoders,
    derived_recipes,
    points,
    set_manifests,
)
from clipaudit.memorization.settings import Memorization

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def check(run: "Settings", audit: Memorization) -> None:
    """Refuse a memorization audit that the other sections do not fit; raise ValueError."""
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


def _check_points(run: "Settings", audit: Memorization) -> None:
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


def pictured(audit: Memorization) -> Iterator[tuple[str, str]]:
    """Yield the settings whose corpora must have pictures, with each corpus."""
    yield from ((f"memorization.sources.{name}", name) for name in audit.sources)
    yield from (("memorization.utility", name) for name in audit.utility)
    for name, selection in audit.selections.items():
        yield f"memorization.selections.{name}.corpus", selection.corpus


def _manifests(run: "Settings", audit: Memorization) -> dict[str, dict[str, str]]:
    return set_manifests(audit, run.recipes[audit.recipe])


def _corpora(run: "Settings", audit: Memorization) -> dict[str, Corpus]:
    return derived_corpora(audit, run.corpora)


def _recipes(run: "Settings", audit: Memorization) -> dict[str, Recipe]:
    return derived_recipes(audit, run.recipes)


def _encoders(run: "Settings", audit: Memorization) -> dict[str, Encoder]:
    return derived_encoders(audit, run.recipes)


def _deduplications(audit: Memorization) -> dict[str, tuple[Deduplication, str]]:
    if audit.deduplication is None or audit.encoder is None:
        return {}
    how = audit.deduplication, audit.encoder
    return {name: how for name, each in audit.sources.items() if each.duplicates == "semantic"}


AUDIT = Audit(
    name="memorization",
    title="the memorization audit",
    rules=("memorized_sets", "memorization"),
    question="Does the model remember objects of its training images?",
    section=Memorization,
    check=check,
    manifests=_manifests,
    pictured=pictured,
    derived_corpora=_corpora,
    derived_recipes=_recipes,
    derived_encoders=_encoders,
    deduplications=_deduplications,
    draws_sets=True,
)
