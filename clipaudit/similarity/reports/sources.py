"""Where the numbers of the similarity audit's tables lie; paths are relative to results/."""

from clipaudit.config.manifests import ALL
from clipaudit.config.settings import Settings
from clipaudit.similarity.prunings import base
from clipaudit.similarity.settings import Similarity
from clipaudit.steps import paths


def neighbors_of(audit: Similarity, corpus: str, encoder: str | None = None) -> str:
    """Return the nearest samples of a whole corpus to every sample of every test set."""
    return paths.neighbors(encoder or audit.encoder, corpus)


def kept_neighbors(audit: Similarity, search: str, corpus: str) -> str:
    """Return the nearest samples among those that a manifest keeps; see `searches`."""
    return paths.kept_neighbors(audit.encoder, search, corpus)


def neighbors_in_web(audit: Similarity) -> str:
    """Return the nearest samples in the set that prunings start from (LAION-200M)."""
    if base(audit) == ALL:
        return neighbors_of(audit, audit.large)
    return kept_neighbors(audit, base(audit), audit.large)


def web_title(run: Settings, audit: Similarity) -> str:
    """Return what tables call the set that prunings start from."""
    title = run.title(audit.large)
    if audit.deduplication is None:
        return title
    return audit.deduplication.title or f"{title}, deduplicated"
