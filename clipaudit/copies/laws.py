"""Declares how the time and the outputs of the copies audit's scripts grow with the data."""

from collections.abc import Mapping

from clipaudit.lineage.planning.scaling import (
    DRAWN,
    EACH_ROW,
    EACH_SAMPLE,
    SUMMED,
    Law,
    one,
    pairs,
    rows,
)

LAWS: Mapping[str, Law] = {
    "draw_sample": SUMMED,
    "hash_images": EACH_SAMPLE,
    "calibrate_hashes": Law(one, "jobs", "copies of a number of images that the settings fix"),
    "calibrate_encoder": Law(one, "jobs", "copies of a number of images that the settings fix"),
    "find_candidates": Law(
        pairs("hashes", "other_hashes"),
        "pairs",
        "every hash against every other; candidates are few",
        gives_else=rows("images"),
    ),
    "verify_copies": Law(rows("candidates"), "pairs", "each pair by itself"),
    "compare_planted": SUMMED,
    "group_repeats": SUMMED,
    "without_copies": EACH_ROW,
    "without_repeats": EACH_ROW,
    "report_pairs": DRAWN,
}
