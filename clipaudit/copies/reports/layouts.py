"""How the tables of the copies audit look in print: headings, captions, lines."""

from collections.abc import Mapping

from clipaudit.plaindata import Row
from clipaudit.reports.layouts import (
    MISSING,
    Layout,
    Line,
    Listing,
    Place,
    count,
    fine_digits,
    measured,
    number,
    percent,
)


def _share(row: Row, name: str) -> str:
    return measured(row, name) or MISSING


def _repeats(row: Row) -> str:
    share = row["share"]
    return MISSING if share is None else percent(share, digits=max(1, fine_digits(share)))


def _threshold(row: Row) -> str:
    if row["threshold"] is None:
        return "none"
    given = ", from the settings" if row["is_given"] else ""
    return f"{row['threshold']:.6g}{given}"


LAYOUTS: Mapping[str, Layout | Listing] = {
    "copies_calibration": Layout(
        title="Made copies that are found again",
        caption="Copies made of this run's own images and searched for among the others (%): those "
        "whose original is a candidate, and those of them whose pixels confirm the copy. "
        "The interval of all copies is over the originals; the others are exact.",
        corner="Copy",
        lead="Copies",
        row="way",
        column="method",
        lines=(
            Line(
                "",
                lambda row: _share(row, "found_share"),
                lambda row: count(row["copies"]),
            ),
            Line("verified by pixels", lambda row: _share(row, "verified_share")),
        ),
    ),
    "copies_groups": Listing(
        title="The largest groups of repeated training images",
        caption="The largest groups of training images that repeat each other. The view "
        "`repeat_groups` lists the images of each.",
        corner="First image",
        name=Place("shard", "row"),
        fields={"Images": lambda row: count(row["size"])},
    ),
    "copies_pairs": Listing(
        title="Test images and their copies in the training data",
        caption="Test images and training images that copy them, the nearest first. An image is "
        "named by its shard and row. The view `copies` lists all pairs.",
        corner="Test set",
        name=lambda row: row["testset_title"],
        fields={
            "Test image": Place("test_shard", "test_row"),
            "Training image": Place("shard", "row"),
            "Kind": lambda row: row["kind"],
            "Edits": lambda row: row["edits"],
            "Differing bits of 256": lambda row: count(row["distance"]) or MISSING,
            "Similarity": lambda row: number(row["similarity"], digits=4) or MISSING,
            "Agreement, %": lambda row: percent(row["agreement"], digits=1) or MISSING,
        },
    ),
    "copies_planted": Listing(
        title="Planted copies that are found",
        caption="Training images of the synthetic world that copy an image of the searched set, "
        "with slight noise, and how many of them are candidates, are called copies, and have the "
        "kind that was planted. Besides: pairs of images that are not copies.",
        corner="Searched",
        name=lambda row: row["searched_title"],
        fields={
            "Planted": lambda row: count(row["planted"]),
            "Candidates": lambda row: count(row["candidates"]),
            "Called copies": lambda row: count(row["verified"]),
            "Of the right kind": lambda row: count(row["named"]),
            "Candidates besides": lambda row: count(row["candidates_besides"]),
            "Called copies besides": lambda row: count(row["verified_besides"]),
        },
    ),
    "copies_summary": Listing(
        title="Test images with a copy in the training data",
        caption="Test images with a copy in the training corpus, by the kind of the nearest copy, "
        "and training images that are copies. Lookalikes are candidate pairs whose pixels show no "
        "copy. 95 % intervals are exact, with equal test images as one draw.",
        corner="Test set",
        name=lambda row: row["testset_title"],
        fields={
            "Images": lambda row: count(row["images"]),
            "With a copy": lambda row: count(row["with_copy"]),
            "With a copy, %": lambda row: _share(row, "share"),
            "Identical bytes": lambda row: count(row["identical_bytes"]),
            "Identical pixels": lambda row: count(row["identical_pixels"]),
            "Re-encoded or resized": lambda row: count(row["resized"]),
            "Edited": lambda row: count(row["edited"]),
            "Training images searched": lambda row: count(row["searched"]),
            "That are copies": lambda row: count(row["training_images"]),
            "That are copies, %": lambda row: _share(row, "training_share"),
            "Lookalikes": lambda row: count(row["lookalikes"]),
            "Too flat for the hash": lambda row: count(row["flat"]),
        },
    ),
    "copies_thresholds": Listing(
        title="The threshold of each method, and its false candidates",
        caption="The threshold of each method: the largest distance of two hashes, in bits of 256, "
        "or the lowest similarity. Unless the settings give it or a note says otherwise, it is the "
        "loosest at which false candidates, among pairs of different images, stay within the "
        "requested rate.",
        corner="Method",
        name=lambda row: row["method_title"],
        fields={
            "Threshold": _threshold,
            "Pairs of different images": lambda row: count(row["negative_pairs"]),
            "Of these candidates": lambda row: count(row["false_positives"]) or MISSING,
            "Per million": lambda row: number(row["per_million"]) or MISSING,
            "At most (95 %)": lambda row: number(row["per_million_high"]) or MISSING,
            "Asked": lambda row: number(row["asked_per_million"]),
            "Made copies found, %": lambda row: percent(row["recall"], digits=1) or MISSING,
            "Note": lambda row: row["note"] or "",
        },
    ),
    "copies_within": Listing(
        title="Training images that repeat another one",
        caption="All images of a group but the first are repeats. "
        "Copies of copies are in one group.",
        corner="Corpus",
        name=lambda row: row["corpus_title"],
        fields={
            "Images": lambda row: count(row["images"]),
            "Repeats": lambda row: count(row["repeats"]),
            "Repeats, %": _repeats,
            "Groups": lambda row: count(row["groups"]),
            "Largest group": lambda row: count(row["largest"]),
        },
    ),
}
