"""Declares how the time and the outputs of the similarity audit's scripts grow with the data."""

from collections.abc import Mapping

from clipaudit.lineage.planning.scaling import (
    DRAWN,
    EACH_ROW,
    SUMMED,
    Law,
    all_rows,
    pairs,
    rows,
    rows_a_file,
)

LAWS: Mapping[str, Law] = {
    "nearest": Law(
        pairs("train", "tests"),
        "products",
        "exact: every train sample against every test sample, number by number",
        gives={"similarities": rows("train"), "neighbors": rows("tests")},
        compares=True,
    ),
    "nearest_kept": Law(
        pairs("train", "tests"),
        "products",
        "as nearest; rows that the manifest leaves out are compared with nothing",
        gives_else=rows("tests"),
        compares=True,
    ),
    "merge_neighbors": Law(
        all_rows, "rows", "the neighbours of all parts", gives_else=rows_a_file("parts")
    ),
    "gap": EACH_ROW,
    "prune_at_cut": EACH_ROW,
    "cut": SUMMED,
    "report_gallery": DRAWN,
}  # fmt: skip
