"""Which files and settings belong to the deduplication of a corpus."""

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

    def clusters(self, wildcards: Wildcards) -> int:
        """Return how many clusters a corpus is divided into."""
        return self._settings(wildcards).clusters

    def iterations(self, wildcards: Wildcards) -> int:
        """Return how often the centroids are improved."""
        return self._settings(wildcards).iterations

    def samples_per_cluster(self, wildcards: Wildcards) -> int:
        """Return of how many samples a centroid is learned."""
        return self._settings(wildcards).samples_per_cluster

    def seed(self, wildcards: Wildcards) -> int:
        """Return the seed of the clusters."""
        return self._settings(wildcards).seed

    def removal_rule(self, wildcards: Wildcards) -> str:
        """Return the rule that says which samples of a cluster are superfluous."""
        return self._settings(wildcards).rule

    def threshold(self, wildcards: Wildcards) -> float:
        """Return the similarity above which samples are duplicates."""
        return self._settings(wildcards).threshold

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
