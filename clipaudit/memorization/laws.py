"""What the time and the outputs of the memorization audit's own scripts grow with."""

from collections.abc import Mapping

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

_COMPARED = Law(
    pairs("own", "drawn"),
    "products",
    "own samples against all that are drawn, number by number of their embeddings",
    gives_else=rows("own"),
    compares=True,
)

LAWS: Mapping[str, Law] = {
    "draw_lots": EACH_SAMPLE,
    "draw": EACH_SAMPLE,
    "overlaps": _COMPARED,
    "set_samples": EACH_SAMPLE,
    "set_manifest": EACH_ROW,
    "count_objects": SUMMED,
    "annotate": EACH_SAMPLE,
    "take_objects": EACH_SAMPLE,
    "detect": EACH_SAMPLE,
    "retrieve": Law(
        pairs("captions", "public"),
        "products",
        "exact: every caption against every public picture",
        gives_else=rows("captions"),
        compares=True,
    ),
    "recall": Law(all_rows, "rows", "all public objects are read", gives_else=rows("records")),
    "measure": Law(
        all_rows, "rows", "each record", gives={"gaps": one, "survival": one},
        gives_else=rows("samples"),
    ),
    "examples": SUMMED,
    "select": TESTED,
    "report_memorized": DRAWN,
}  # fmt: skip
