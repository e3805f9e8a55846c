"""Lays out the tables of the similarity audit: headings, captions, lines."""

from collections.abc import Mapping

from clipaudit.embeddings.fixed import FEWEST
from clipaudit.plaindata import Row
from clipaudit.reports.layouts import (
    MISSING,
    NOT_TRAINED,
    Layout,
    Line,
    Listing,
    cell,
    count,
    interval,
    measured,
    number,
    percent,
)

_DIFFERENCES = ("effect", "excess", "near_effect", "rand_effect")  # measures that may be negative


def _size(row: Row, kind: str = "") -> str:
    """Return how many samples there are, or how many were removed, as a negative number."""
    removed = row.get(f"{kind}removed")
    return count(row[f"{kind}size"] if removed is None else -removed)


def _threshold(row: Row) -> str:
    distance = row["distance"]
    if distance is None:
        return ""
    within = "at {} or nearer" if row.get("is_calibrated") else "nearer than {}"
    return f" ({within.format(f'{distance:.3g}')})"


def _measure(row: Row) -> str:
    return percent(row["value"], digits=1, sign=row["measure"] in _DIFFERENCES)


def _measure_interval(row: Row) -> str:
    return interval(row["value_low"], row["value_high"], sign=row["measure"] in _DIFFERENCES)


def _distinguishes(row: Row) -> str:
    if row["collapsed"]:
        return "no"
    return "yes" if row["samples"] >= FEWEST else "not judged"


def _line_note(row: Row) -> str:
    """Return how many models a robustness line goes through, if there is one."""
    if row["is_reference"]:
        return " (reference)"
    models = "1 model" if row["points"] == 1 else f"{row['points']} models"
    out = f", {row['points_left_out']} left out" if row["points_left_out"] else ""
    return f" ({'' if row['slope'] is not None else 'no line: '}{models}{out})"


_ACCURACY = (
    Line(
        "",
        cell(percent, "accuracy", missing=MISSING),
        lambda row: _size(row) or MISSING,
        lead_sort="size",
    ),
    Line("95 % interval", cell(interval, "accuracy_low", "accuracy_high")),
    Line("in the paper", cell(percent, "published_accuracy"), lambda row: _size(row, "published_")),
)

_CHANGE = (
    Line("relative change, %", cell(percent, "relative_change", digits=1, sign=True)),
    Line(
        "change, 95 % interval",
        cell(interval, "relative_change_low", "relative_change_high", sign=True),
    ),
    Line("change in the paper", cell(percent, "published_relative_change", digits=1, sign=True)),
    # of tables with random sets alone
    Line(
        "change against random, %",
        lambda row: percent(row.get("control_change"), digits=1, sign=True),
    ),
    Line(
        "against random, 95 % interval",
        lambda row: interval(
            row.get("control_change_low"), row.get("control_change_high"), sign=True
        ),
    ),
)

_GRID_NOTE = " Not trained: this run's settings do not request this model."

_ACCURACY_NOTE = (
    "\N{LEFT SINGLE QUOTATION MARK}X-pruned\N{RIGHT SINGLE QUOTATION MARK} omits samples that are "
    "closer to some test image of X than any sample of the small set; its size is the number of "
    "samples removed. Intervals are exact for accuracies. For relative changes, they are a "
    "bootstrap over the test images, paired with the unpruned data set." + _GRID_NOTE
)


def _accuracies(title: str, caption: str, lines: tuple[Line, ...]) -> Layout:
    """Return a table of models' accuracies, a column for each test set."""
    return Layout(
        caption,
        corner="Dataset",
        lead="Size",
        row="dataset",
        column="testset",
        title=title,
        row_note=lambda row: "" if row["in_grid"] else NOT_TRAINED,
        lines=lines,
    )


def _over_seeds(title: str, caption: str) -> Layout:
    """Return a table of measures over seeds, a row for each test set."""
    lines = (
        Line("", _measure, cell(count, "images")),
        Line("95 % interval", _measure_interval),
    )
    return Layout(
        caption, "Test set", "testset_title", "measure", lines, lead="Images", title=title
    )


LAYOUTS: Mapping[str, Layout | Listing] = {
    "similarity_deduplication": Listing(
        title="Samples that deduplication keeps, by threshold",
        caption="Samples of the large set that deduplication keeps, by its threshold: a sample is "
        "removed if its similarity to the sample that it repeats is above. Samples that were not "
        "embedded are not counted.",
        corner="Threshold",
        name=lambda row: f"{row['threshold']:g}{', chosen' if row['is_chosen'] else ''}",
        fields={
            "Samples": cell(count, "samples"),
            "Kept": cell(count, "kept"),
            "Removed": cell(count, "removed"),
            "Removed, %": cell(percent, "removed_share", missing=MISSING),
        },
    ),
    "similarity_encoders": Listing(
        title="Whether the encoders distinguish images",
        caption="Whether the encoders distinguish the images of the test sets: cosine similarities "
        "of random pairs of test images, of each image and the most similar other one, and of two "
        "images of one class, and the effective rank of the embeddings. An encoder does not "
        "distinguish images if half of the random pairs are at 0.99 or above, or the effective "
        f"rank is below 2. With fewer than {FEWEST} different images, this is not judged.",
        corner="Encoder",
        name=lambda row: row["encoder_title"],
        fields={
            "Test set": lambda row: row["testset_title"],
            "Images": cell(count, "samples"),
            "Random, mean": cell(number, "random_mean", missing=MISSING, digits=4),
            "Random, median": cell(number, "random_q50", missing=MISSING, digits=4),
            "Nearest, mean": cell(number, "nearest_mean", missing=MISSING, digits=4),
            "One class, mean": cell(number, "same_class_mean", missing=MISSING, digits=4),
            "Effective rank": lambda row: number(row["effective_rank"], digits=1) or MISSING,
            "Dimension": cell(count, "dimension", missing=MISSING),
            "Distinguishes": _distinguishes,
        },
    ),
    "similarity_evidence": _over_seeds(
        "Accuracy lost by pruning to a test set, over seeds",
        "The cost of pruning to the gap of one test set: mean top-1 accuracy (%) over seeds "
        "of models trained on the pruned set and on a random set of the same size, and their "
        "difference, also minus the difference on the reference test set. 95 % intervals over "
        "seeds and images.",
    ),
    "similarity_evidence_orders": _over_seeds(
        "Accuracy lost by near-, random and far-pruning, over seeds",
        "The cost of near-, rand- and far-pruning by the same number of samples: mean top-1 "
        "accuracy (%) over seeds, and the differences, taken seed by seed. Near and far are by "
        "similarity to one test set. 95 % intervals over seeds and images.",
    ),
    "similarity_gap_check": Listing(
        title="Kept samples nearer than the gap: none may be",
        caption="After gap pruning: how similar the nearest kept sample of the large set is to "
        "each test image, compared with the image's gap. None may be above.",
        corner="Data set",
        name=lambda row: row["search"],
        fields={
            "Test set": lambda row: row["testset_title"],
            "Images": cell(count, "images"),
            "Below the gap": cell(count, "below"),
            "At the gap": cell(count, "ties"),
            "Above the gap": cell(count, "above"),
            "Nothing kept": cell(count, "without_neighbor"),
        },
    ),
    "similarity_robustness": Layout(
        title="Accuracy beyond what the reference test set predicts",
        caption="Effective robustness: accuracy (top-1, %), the accuracy expected of a model "
        "trained on the small set alone that is as accurate on the reference test set, and the "
        "difference in percentage points. The expected accuracy comes from a line through such "
        "models, counted in parentheses, fitted to logits of accuracies; models with an accuracy "
        "of 0 or 1 are left out. Models of sets that were pruned towards a test set are not on the "
        "line, unless `similarity.robustness.models` names them. The 95 % interval is that of a "
        "further model of the small set alone, by the models' scatter about the line; it takes "
        "three models.",
        corner="Dataset",
        row="dataset",
        column="testset",
        head_note=_line_note,
        lines=(
            Line("", cell(percent, "accuracy", missing=MISSING)),
            Line("expected", cell(percent, "expected_accuracy")),
            Line("effective robustness", cell(percent, "effective_robustness", sign=True)),
            Line(
                "95 % interval",
                cell(interval, "effective_robustness_low", "effective_robustness_high", sign=True),
            ),
            Line("in the paper", cell(percent, "published_accuracy")),
            Line("expected in the paper", cell(percent, "published_expected_accuracy", digits=0)),
        ),
    ),
    "similarity_table1": _accuracies(
        "Accuracy when the most similar training images are removed, small set added",
        "Corrected zero-shot accuracy (top-1, %), the small set added to the large one. "
        + _ACCURACY_NOTE,
        (*_ACCURACY, *_CHANGE),
    ),
    "similarity_table2": Layout(
        title="Test images with a near duplicate in the training data",
        caption="Test images with a near duplicate in the train sets: an image at a distance "
        "(1 \N{MINUS SIGN} cosine similarity) below the threshold, 0.05 in the paper, or not above "
        "a calibrated one. "
        "Shares have exact 95 % intervals. Nothing is counted if the encoder does not distinguish "
        "images, or if half of the random pairs of test images are nearer than the threshold.",
        corner="Test set",
        lead="Images",
        row="testset_title",
        column="corpus",
        row_note=lambda row: f", {row['note']}" if row["note"] else "",
        head_note=_threshold,
        lines=(
            Line("", cell(count, "near_duplicates", missing=MISSING), cell(count, "images")),
            Line("share, % (95 % interval)", lambda row: measured(row, "share", digits=2)),
            Line(
                "in the paper",
                cell(count, "published_near_duplicates"),
                cell(count, "published_images"),
            ),
        ),
    ),
    "similarity_table3": _accuracies(
        "Accuracy of models trained on core sets of equal size",
        "Zero-shot accuracy (top-1, %) of models trained on core sets of equal size. "
        "\N{LEFT SINGLE QUOTATION MARK}X-far-pruned\N{RIGHT SINGLE QUOTATION MARK} keeps the "
        "samples most similar to the test images of X; "
        "\N{LEFT SINGLE QUOTATION MARK}all\N{RIGHT SINGLE QUOTATION MARK} means all test sets "
        "together. SemDeDup keeps as many by deduplication alone. The average is over test sets; "
        "intervals are exact." + _GRID_NOTE,
        _ACCURACY,
    ),
    "similarity_table4": _accuracies(
        "Accuracy when the most similar training images are removed",
        "Corrected zero-shot accuracy (top-1, %), the small set not added. Classifiers trained on "
        "labels, if any, come last, on the test sets that have their classes. " + _ACCURACY_NOTE,
        (*_ACCURACY, *_CHANGE),
    ),
    "similarity_table5": Layout(
        title="Whether other encoders agree with this one",
        caption="Agreement of other encoders with the encoder of this run. First, Spearman's rank "
        "correlation, over the images of each test set, between their similarities to their "
        "nearest image in the small set under two encoders (in the paper, ViT-B/16+ and ViT-L/14). "
        "Then, among samples of the large set that both encoders embed, those that they prune to "
        "the gaps of the test set. Jaccard: the share that both prune of those that either prunes, "
        "with an exact 95 % interval. Kappa: Cohen's, 1 for equal decisions, 0 for chance "
        "agreement of encoders that prune as many; its interval is a bootstrap over samples.",
        corner="Test set",
        lead="Images",
        row="testset_title",
        column="encoders",
        lines=(
            Line("", cell(number, "correlation", missing=MISSING), cell(count, "images")),
            Line("in the paper", cell(number, "published_correlation")),
            Line("pruned by both", cell(count, "by_both")),
            Line("by both, expected by chance", cell(number, "both_by_chance", digits=1)),
            Line("by the first alone", cell(count, "by_first_alone")),
            Line("by the second alone", cell(count, "by_other_alone")),
            Line("by neither", cell(count, "by_neither")),
            Line("Jaccard, %", lambda row: measured(row, "jaccard")),
            Line("kappa", cell(number, "kappa")),
            Line(
                "kappa, 95 % interval",
                lambda row: interval(row["kappa_low"], row["kappa_high"], form=number, digits=2),
            ),
        ),
    ),
    "similarity_table6": Layout(
        title="Training samples near the similarity gap",
        caption="Train samples near the similarity gap: those whose normalized similarity exceeds "
        "the threshold, 0.9 in the paper. The large set is pruned to each test set, the small set "
        "is whole. The paper's App. F can be read in three ways: (1) as here, the "
        "similarity to the most similar test image, divided by that image's gap to the small set "
        "(Sec. 4.4); (2) the largest such ratio over all test images; (3) as (1), with the gap to "
        "the large set before pruning, as App. F says. The three give "
        "different counts.",
        corner="Test set",
        row="testset_title",
        column="corpus",
        lines=(
            Line("", cell(count, "near_gap")),
            Line(
                "without a normalized similarity (gap of 0 or less)",
                lambda row: count(row["not_normalized"] or None),
            ),
            Line("in the paper", cell(count, "published_near_gap")),
        ),
    ),
    "similarity_table7": Layout(
        title="Test images whose nearest training image is in the large set",
        caption="Test images (%) whose nearest train image is strictly in the large set rather "
        "than in the small one. Intervals are exact.",
        corner="Test set",
        lead="Images",
        row="testset_title",
        column="corpus",
        lines=(
            Line("", cell(percent, "share", missing=MISSING), cell(count, "images")),
            Line("95 % interval", cell(interval, "share_low", "share_high", digits=2)),
            Line("equally near, images", lambda row: count(row["ties"] or None)),
            Line("in the paper", cell(percent, "published_share"), cell(count, "published_images")),
        ),
    ),
}
