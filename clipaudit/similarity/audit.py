"""Declares the similarity audit."""

from typing import Any

from clipaudit.config.audits import AskedData, Audit
from clipaudit.config.deduplication import Deduplication
from clipaudit.similarity.checks import asks, check, left_out
from clipaudit.similarity.prunings import similarity_manifests
from clipaudit.similarity.settings import Similarity
from clipaudit.similarity.trainings import derived_recipes


def _deduplications(audit: Similarity) -> dict[str, tuple[Deduplication, str]]:
    if audit.deduplication is None:
        return {}
    return {audit.large: (audit.deduplication, audit.encoder)}


def _of_data(data: AskedData) -> dict[str, Any] | None:
    if data.encoder is None or not data.tests:
        return None
    return {
        "encoder": data.encoder,
        "large": data.train,
        "test_sets": list(data.tests),
        "near_duplicate_distance": "calibrated",
        "galleries": {},
    }


AUDIT = Audit(
    name="similarity",
    title="the similarity audit",
    rules=("nearest", "prune", "evaluate"),
    question="Is the benchmark accuracy just train-test similarity?",
    section=Similarity,
    check=check,
    manifests=lambda _, audit: similarity_manifests(audit),
    pictured=lambda _: (),  # samples and embeddings suffice: parts that need more are left out
    of_data=_of_data,
    takes=("large", "small", "test_sets", "control_sets"),
    derived_recipes=lambda run, audit: derived_recipes(audit, run.recipes),
    deduplications=_deduplications,
    left_out=left_out,
    asks=asks,
)
