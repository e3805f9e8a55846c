"""The declaration of the similarity audit."""

from clipaudit.config.audits import Audit
from clipaudit.config.deduplication import Deduplication
from clipaudit.similarity.checks import check, left_out
from clipaudit.similarity.prunings import similarity_manifests
from clipaudit.similarity.settings import Similarity


def _deduplications(audit: Similarity) -> dict[str, tuple[Deduplication, str]]:
    if audit.deduplication is None:
        return {}
    return {audit.large: (audit.deduplication, audit.encoder)}


AUDIT = Audit(
    name="similarity",
    title="the similarity audit",
    rules=("nearest", "prune", "evaluate"),
    question="Is the benchmark accuracy just train-test similarity?",
    section=Similarity,
    check=check,
    manifests=lambda _, audit: similarity_manifests(audit),
    pictured=lambda _: (),  # samples and embeddings alone will do: what needs more is left out
    takes=("large", "small", "test_sets", "control_sets"),
    deduplications=_deduplications,
    left_out=left_out,
)
