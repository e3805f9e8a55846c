"""The declaration of the memorization audit."""

from typing import TYPE_CHECKING

from clipaudit.config.audits import Audit
from clipaudit.config.corpora import Corpus
from clipaudit.config.deduplication import Deduplication
from clipaudit.config.training import Encoder, Recipe
from clipaudit.memorization.checks import check, pictured
from clipaudit.memorization.points import (
    derived_corpora,
    derived_encoders,
    derived_recipes,
    set_manifests,
)
from clipaudit.memorization.settings import Memorization

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


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
