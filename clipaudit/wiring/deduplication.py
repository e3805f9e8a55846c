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

    def group_clusters(self, wildcards: Wildcards) -> list[int]:
        """Return the clusters of a group: the first, and the one after the last."""
        clusters = self._settings(wildcards).group_clusters(wildcards.group)
        return [clusters.start, clusters.stop]

    def duplicates(self, wildcards: Wildcards) -> Paths:
        """Return the duplicates of a corpus, by group of clusters."""
        settings, encoder = self.asked[wildcards.corpus]
        return [
            self.corpora.result(paths.duplicates(encoder, wildcards.corpus, group))
            for group in settings.groups()
        ]

    def _settings(self, wildcards: Wildcards) -> Deduplication:
        return self.asked[wildcards.corpus][0]
