"""Give rules the files and settings of the deduplication of a corpus."""

from collections.abc import Callable

from clipaudit.config.deduplication import Deduplication
from clipaudit.steps import paths
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.wildcards import Paths, Wildcards


class DeduplicationFiles:
    """The clusters and duplicates of the corpora that some settings deduplicate."""

    def __init__(self, corpora: CorpusFiles) -> None:
        """Take the settings from the corpora."""
        self.corpora = corpora
        self.asked = corpora.run.deduplications()

    def setting(self, name: str) -> Callable[[Wildcards], object]:
        """Return a function that gives a corpus's setting of this name in `Deduplication`."""
        assert name in Deduplication.model_fields, f"no field of Deduplication: {name}"
        return lambda wildcards: getattr(self._settings(wildcards), name)

    def clusters(self, wildcards: Wildcards) -> int:
        """Return the number of clusters, or the most if it follows the data."""
        return self._settings(wildcards).most_clusters

    def follow(self, wildcards: Wildcards) -> bool:
        """Return whether the number of clusters follows the number of samples."""
        return self._settings(wildcards).clusters is None

    def floor(self, wildcards: Wildcards) -> float | None:
        """Return the lowest similarity of interest, if there is one."""
        return self._settings(wildcards).floor()

    def group(self, wildcards: Wildcards) -> list[int]:
        """Return a group's number, and the number of groups."""
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
