"""The declaration of the memorization audit."""

from clipaudit.config.audits import Audit
from clipaudit.config.deduplication import Deduplication
from clipaudit.memorization.checks import asks, check, left_out, pictured
from clipaudit.memorization.fixed import COCO
from clipaudit.memorization.points import (
    derived_corpora,
    derived_encoders,
    derived_recipes,
    set_manifests,
)
from clipaudit.memorization.settings import Memorization


def _deduplications(audit: Memorization) -> dict[str, tuple[Deduplication, str]]:
    if audit.deduplication is None or audit.encoder is None:
        return {}
    how = audit.deduplication, audit.encoder
    return {name: how for name, each in audit.sources.items() if each.duplicates == "semantic"}


def _files(audit: Memorization) -> dict[str, str]:
    objects = audit.objects
    named = {
        f"memorization.objects.given.{name}.files[{at}]": path
        for name, rows in objects.given.items()
        for at, path in enumerate(rows.paths)
    }
    if objects.names is not None and objects.names != COCO:
        named["memorization.objects.names"] = objects.names
    return named


AUDIT = Audit(
    name="memorization",
    title="the memorization audit",
    rules=("memorized_sets", "memorization"),
    question="Does the model remember objects of its training images?",
    section=Memorization,
    check=check,
    manifests=lambda run, audit: set_manifests(audit, run.recipes),
    pictured=pictured,
    takes=("sources", "utility"),
    derived_corpora=lambda run, audit: derived_corpora(audit, run.corpora),
    derived_recipes=lambda run, audit: derived_recipes(audit, run.recipes),
    derived_encoders=lambda run, audit: derived_encoders(audit, run.recipes),
    deduplications=_deduplications,
    files=_files,
    left_out=left_out,
    asks=asks,
    draws_sets=True,
)
