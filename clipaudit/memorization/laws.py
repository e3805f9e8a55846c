"""How time and outputs of the memorization audit's own scripts scale."""

from collections.abc import Mapping
from dataclasses import replace

from clipaudit.lineage.planning.scaling import (
    DRAWN,
    EACH_ROW,
    EACH_SAMPLE,
    SUMMED,
    TESTED,
    Law,
    all_rows,
    one,
    pairs,
    rows,
)
from clipaudit.plaindata import Json

_COMPARED = Law(
    pairs("own", "drawn"),
    "products",
    "own samples against all that are drawn, number by number of their embeddings",
    gives_else=rows("own"),
    compares=True,
)


def _size_of_set(settings: Json) -> float | None:
    """Return the largest number of samples of a set; None if it is a share of all."""
    chosen = settings["chosen"]
    size = settings["drawn"][chosen["set"]] if chosen["size"] is None else chosen["size"]
    return float(size) if isinstance(size, int) else None


LAWS: Mapping[str, Law] = {
    "draw_lots": EACH_SAMPLE,
    "draw": EACH_SAMPLE,
    "overlaps": _COMPARED,
    "set_samples": EACH_SAMPLE,
    "set_manifest": replace(EACH_ROW, keeps=_size_of_set),
    "records_of_size": EACH_SAMPLE,
    "count_objects": SUMMED,
    "annotate": EACH_SAMPLE,
    "sort_objects": EACH_SAMPLE,
    "take_objects": EACH_SAMPLE,
    "detect": EACH_SAMPLE,
    "retrieve": Law(
        pairs("captions", "public"),
        "products",
        "exact: each caption is compared with each public image",
        gives_else=rows("captions"),
        compares=True,
    ),
    "recall": Law(all_rows, "rows", "all public objects are read", gives_else=rows("records")),
    "measure": Law(
        all_rows, "rows", "each record", gives={"gaps": one, "survival": one},
        gives_else=rows("samples"),
    ),
    "recall_by_words": Law(
        all_rows, "rows", "all public captions and objects are read", gives_else=rows("records")
    ),
    "one_model": SUMMED,
    "one_model_over_seeds": SUMMED,
    "embed_augmented": Law(
        lambda reading: reading.rows.get("samples", 0.0) * reading.settings["versions"],
        "captions",
        "each version of a caption is embedded separately",
        wide=("embeddings",),
    ),
    "embed_augmented_pictures": Law(
        lambda reading: reading.rows.get("samples", 0.0) * reading.settings["versions"],
        "images",
        "each version of an image is embedded separately",
        wide=("embeddings",),
    ),
    "score_augmented": Law(
        rows("versions"),
        "rows",
        "each version with the other side of its pair",
        gives_else=rows("others"),
    ),
    "score_pairs": Law(rows("captions"), "rows", "each caption with its own image"),
    "pair_test": SUMMED,
    "pair_tests_over_seeds": SUMMED,
    "examples": SUMMED,
    "select": TESTED,
    "report_memorized": DRAWN,
}  # fmt: skip
