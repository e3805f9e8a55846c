"""How time and outputs of the parrot-caption audit's own scripts scale."""

from collections.abc import Mapping

from clipaudit.lineage.planning.scaling import (
    DRAWN,
    EACH_ROW,
    EACH_SAMPLE,
    SUMMED,
    TESTED,
    Law,
    all_rows,
    lloyd,
    one,
    rows,
)
from clipaudit.parrot.fixed import MOST_CLUSTERS
from clipaudit.plaindata import Json


def _sized(clusters: Json) -> Json:
    """Return the settings of clusters with their number, or its default limit if not set."""
    given = clusters["clusters"]
    return {**clusters, "clusters": given or MOST_CLUSTERS, "follow": given is None}


LAWS: Mapping[str, Law] = {
    "retrieve_pairs": Law(
        rows("samples"), "samples", "the model's passes; the pairs of a few thousand are quick"
    ),
    "attack": TESTED,
    "run_suite": Law(one, "jobs", "a task is of one size"),
    "task_results": SUMMED,
    "spot": EACH_SAMPLE,
    "read_spans": EACH_SAMPLE,
    "caption_scripts": SUMMED,
    "sort_spans": EACH_SAMPLE,
    "take_spans": EACH_SAMPLE,
    "match": EACH_SAMPLE,
    "sweep_fuzzy": Law(rows("spans"), "samples", "each sample by itself", gives_else=one),
    "checked_text": SUMMED,
    "compare_spotted": Law(rows("matches"), "samples", "each sample by itself"),
    "score_captions": EACH_SAMPLE,
    "fit_clusters": Law(
        lambda reading: lloyd(_sized(reading.settings["clusters"]), all_rows(reading)),
        "distances",
        "k-means on a sample, after a PCA of it: as centroids",
        gives_else=one,
    ),
    "place": Law(rows("embeddings"), "samples", "each sample against a fixed number of clusters"),
    "count_grams": EACH_SAMPLE,
    "merge_grams": SUMMED,
    "read_grams": Law(one, "jobs", "one file, whatever the corpora"),
    "probe": Law(rows("grams"), "words", "one image per word", one_name=True),
    "cluster_centroids": SUMMED,
    "cluster_candidates": Law(
        rows("embeddings"), "samples", "each sample by itself", wide=("clustered",)
    ),
    "sort_scores": EACH_SAMPLE,
    "cut_curation": SUMMED,
    "curate": EACH_ROW,
    "heldout": EACH_SAMPLE,
    "collect": EACH_SAMPLE,
    "repack": Law(
        rows("collected_places"),
        "samples",
        "each sample of the set is read and written; the rows of its manifests come along",
        carries="manifests",
    ),
    "score_heldout": EACH_SAMPLE,
    "report_spotted": DRAWN,
}  # fmt: skip
