"""Sections on the removal of semantic duplicates, for audits that deduplicate."""

from typing import Literal

from pydantic import Field

from clipaudit.config.base import Distinct, Section
from clipaudit.corpora.parts import part_name

MOST_CLUSTERS = 50_000  # if the settings give no number (origin: SemDeDup)


class WithinClusters(Section):
    """SemDeDup (Abbas et al., 2023) within given clusters."""

    threshold: float = Field(
        0.876, gt=-1, lt=1, description="more similar pairs are duplicates (clip-ood's code)"
    )
    rule: Literal["semdedup", "clip-ood", "paper"] = Field(
        "semdedup",
        description="which samples are removed: those with an earlier duplicate in their cluster, "
        "farthest from the centroid first (SemDeDup's code) or in file order (clip-ood's code); or "
        "all but one of each group of duplicates (SemDeDup's text)",
    )
    clusters_per_group: int = Field(
        500, ge=1, description="most clusters per job; never changes a result"
    )

    def floor(self) -> float | None:
        """Return the lowest threshold that the rule `paper` needs; None for other rules."""
        return self.threshold if self.rule == "paper" else None

    def groups_of(self, given: int | None, most: int, *, parts: int) -> list[str]:
        """Return the names of the groups of clusters of a corpus of `parts`, in order, a job each.

        `given` is the number of clusters; None: the data set it, up to `most`. There are then no
        more groups than parts.
        """
        needed = -(-(given or most) // self.clusters_per_group)
        count = needed if given else min(needed, parts)
        return [part_name(number) for number in range(count)]


class Deduplication(WithinClusters):
    """SemDeDup (Abbas et al., 2023): the large set without semantic duplicates.

    LAION-200M is such a set of LAION-400M, but clip-ood's code clusters by Euclidean k-means, and
    embeds by OpenCLIP's ViT-B/32 unless told otherwise. All prunings then start from the
    deduplicated set.
    """

    title: str | None = Field(None, description="the set's name in tables (paper: L-200M)")
    clusters: int | None = Field(
        None,
        ge=1,
        description="clusters of the spherical k-means; when absent 50,000 (SemDeDup), or one per "
        "39 samples if that is fewer",
    )
    iterations: int = Field(
        100, ge=1, description="most k-means iterations (SemDeDup); fewer if the centroids converge"
    )
    seed: int = Field(1234, ge=0, lt=2**31, description="seed of k-means and its sample (SemDeDup)")
    samples_per_cluster: int = Field(
        256, ge=1, description="samples per cluster that k-means learns from (origin: faiss)"
    )
    sweep: Distinct[float] = Field(
        [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99],
        description="thresholds in the table of kept samples",
    )

    @property
    def most_clusters(self) -> int:
        """The number of clusters, or its upper bound if the settings give no number."""
        return self.clusters or MOST_CLUSTERS

    def floor(self) -> float | None:
        """Return the lowest threshold that the rule `paper` needs; None for other rules."""
        return min([self.threshold, *self.sweep]) if self.rule == "paper" else None

    def groups(self, parts: int) -> list[str]:
        """Return the names of the groups of clusters of a corpus of `parts`, in order, a job each.

        If the data set the number of clusters, there are no more groups than parts.
        """
        return self.groups_of(self.clusters, MOST_CLUSTERS, parts=parts)
