"""How a corpus loses its semantic duplicates; audits that deduplicate have such a section."""

from typing import Literal

from pydantic import Field

from clipaudit.config.base import Section
from clipaudit.corpora.parts import part_name

MOST_CLUSTERS = 50_000  # where the settings name no number: SemDeDup's
LEAST_ROWS = 39  # of a cluster, where clusters follow the data (origin: faiss)


class Deduplication(Section):
    """SemDeDup (Abbas et al., 2023): the large set without semantic duplicates.

    What LAION-200M is to LAION-400M. All prunings then start from the deduplicated set.
    """

    title: str | None = Field(None, description="what tables call the set (paper: L-200M)")
    threshold: float = Field(
        0.876, gt=-1, lt=1, description="a more similar pair is a duplicate (clip-ood's code)"
    )
    rule: Literal["semdedup", "clip-ood", "paper"] = Field(
        "semdedup",
        description="who leaves: what has an earlier duplicate in its cluster, farthest from the "
        "centroid first (SemDeDup's code) or in file order (clip-ood's code); or all but one of "
        "each group of duplicates (SemDeDup's text)",
    )
    clusters: int | None = Field(
        None,
        ge=1,
        description="of the spherical k-means; when absent 50,000 (SemDeDup), or one for 39 "
        "samples where these are fewer",
    )
    iterations: int = Field(
        100, ge=1, description="of k-means (SemDeDup); fewer if no centroid moves before"
    )
    seed: int = Field(1234, ge=0, lt=2**31, description="of k-means and of its sample (SemDeDup)")
    samples_per_cluster: int = Field(
        256, ge=1, description="k-means learns from so many samples a cluster (origin: faiss)"
    )
    clusters_per_group: int = Field(
        500, ge=1, description="clusters of a job, at most; never changes a result"
    )
    sweep: list[float] = Field(
        [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.99],
        description="thresholds at which the table of kept samples is made",
    )

    @property
    def most_clusters(self) -> int:
        """How many clusters there are, or may be where the settings name no number."""
        return self.clusters or MOST_CLUSTERS

    def floor(self) -> float | None:
        """Return the lowest threshold of interest, which the rule `paper` is asked down to."""
        return min(self.threshold, *self.sweep) if self.rule == "paper" else None

    def groups(self, parts: int) -> list[str]:
        """Return the names of the groups of clusters of a corpus of `parts`, a job each, in order.

        Where clusters follow the data, so do groups: there are no more of them than parts.
        """
        most = -(-self.most_clusters // self.clusters_per_group)
        count = most if self.clusters else min(most, parts)
        return [part_name(number) for number in range(count)]
