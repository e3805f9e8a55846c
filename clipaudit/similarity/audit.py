"""The declaration of the similarity audit."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clipaudit.config.audits import Audit
from clipaudit.config.deduplication import Deduplication
from clipaudit.similarity.checks import check, left_out
from clipaudit.similarity.prunings import similarity_manifests
from clipaudit.similarity.settings import Similarity

if TYPE_CHECKING:
    from clipaudit.config.settings import Settings


def _manifests(_: "Settings", audit: Similarity) -> dict[str, dict[str, str]]:
    return similarity_manifests(audit)


def _deduplications(audit: Similarity) -> dict[str, tuple[Deduplication, str]]:
    if audit.deduplication is None:
        return {}
    return {audit.large: (audit.deduplication, audit.encoder)}


def _pictured(_: Similarity) -> Iterator[tuple[str, str]]:
    """Samples and embeddings alone will do: what needs pictures is left out."""
    yield from ()


AUDIT = Audit(
    name="similarity",
    title="the similarity audit",
    rules=("nearest", "prune", "evaluate"),
    question="Is the benchmark accuracy just train-test similarity?",
    section=Similarity,
    check=check,
    manifests=_manifests,
    pictured=_pictured,
    deduplications=_deduplications,
    left_out=left_out,
)
