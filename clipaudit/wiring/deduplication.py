"""Which files and settings belong to the deduplication of a corpus."""

from collections.abc import Callable

from clipaudit.config.deduplication import Deduplication
from clipaudit.steps import paths
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.wildcards import Paths, Wildcards


class DeduplicationFiles:
    """The clusters and duplicates of the corpora that some settings deduplicate."""

    def __init__(self, corpora: CorpusFiles) -> None:
        """Keep the settings at hand."""
        self.corpora = corpora
        self.asked = corpora.run.deduplications()

    def setting(self, name: str) -> Callable[[Wildcards], object]:
        """Return what gives a corpus's setting of this name: a field of `Deduplication`."""
        assert name in Deduplication.model_fields, f"no field of Deduplication: {name}"
        return lambda wildcards: getattr(self._settings(wildcards), name)

    def clusters(self, wildcards: Wildcards) -> int:
        """Return how many clusters there are, or at most where they follow the data."""
        return self._settings(wildcards).most_clusters

    def follow(self, wildcards: Wildcards) -> bool:
        """Return whether the number of clusters follows that of samples."""
        return self._settings(wildcards).clusters is None

    def floor(self, wildcards: Wildcards) -> float | None:
        """Return the similarity below which nobody asks how similar samples are, if there is."""
        return self._settings(wildcards).floor()

    def group(self, wildcards: Wildcards) -> list[int]:
        """Return a group's number, and how many groups there are."""
        return [int(wildcards.group), len(self._groups(wildcards))]

    def duplicates(self, wildcards: Wildcards) -> Paths:
        """Return the duplicates of a corpus, by group of clusters."""
        corpus = wildcards.corpus
        encoder = self.asked[corpus][1]
        return [
            self.corpora.result(paths.duplicates(encoder, corpus, group))
            for group in self._groups(wildcards)
        ]

    def _groups(self, wildcards: Wildcards) -> list[str]:
        parts = self.corpora.run.parts(wildcards.corpus)
        return self._settings(wildcards).groups(len(parts))

    def _settings(self, wildcards: Wildcards) -> Deduplication:
        return self.asked[wildcards.corpus][0]
