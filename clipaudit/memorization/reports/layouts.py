"""The printed form of the memorization audit's tables: headings, captions, lines."""

from collections.abc import Mapping

from clipaudit.plaindata import Row
from clipaudit.reports.layouts import (
    MISSING,
    Layout,
    Line,
    Listing,
    cell,
    count,
    interval,
    measured,
    number,
)

FALSE_DISCOVERIES = 0.05  # the share of listed records that are not memorized
LISTED = 20  # records printed for each k; the audit's tables hold them all
DIGITS = 3  # of a gap
_LEAST_P = 1e-4  # smaller p values are printed as below it


def gap(value: float | None) -> str:
    """Format a gap with its sign; "" for None.

    >>> gap(0.0123), gap(-0.5), gap(0.0)
    ('+0.012', '\\u22120.500', '0.000')
    """
    return number(value, digits=DIGITS, sign=True)


def chance(p_value: float | None) -> str:
    """Format a p value; "" for None.

    >>> chance(0.0421), chance(1e-30)
    ('0.0421', '< 0.0001')
    """
    if p_value is None:
        return ""
    return f"< {_LEAST_P:.4f}" if p_value < _LEAST_P else f"{p_value:.4f}"


def _draws(row: Row) -> str:
    if row["draws_mean"] is None:
        return ""
    return f"{gap(row['draws_mean'])} \N{PLUS-MINUS SIGN} {number(row['draws_std'], digits=DIGITS)}"


def _losses(row: Row) -> str:
    losses = (row["target_loss"], row["reference_loss"])
    return "" if None in losses else " and ".join(number(loss, digits=3) for loss in losses)


def _utility(row: Row) -> str:
    utility = measured(row, "utility")
    return f"{row['utility_title']} {utility}" if utility else ""


def _bounds(row: Row, column: str) -> str:
    low, high = row[f"{column}_low"], row[f"{column}_high"]
    return interval(low, high, form=number, digits=DIGITS, sign=True)


def _change(row: Row) -> str:
    bounds = _bounds(row, "change")
    return f"{gap(row['change'])} {bounds}" if bounds else ""


def _net(row: Row) -> str:
    bounds = _bounds(row, "net")
    return f"{gap(row['net'])} {bounds}" if bounds else ""


def _record(row: Row) -> str:
    """Return the name of a listed record, or of the summary row."""
    if not row["uid"]:
        return str(row["record"])
    return f"{row['record']} ({row['source_title']}, {row['shard']}, {row['row']})"


def _as_large(row: Row) -> str:
    """Return the shares of members and of the hold-out that have at least so large a gap."""
    if row["quantity"] != "recall_gap":
        return ""
    members, unseen = (
        None if share is None else f"{number(100 * share)} %"
        for share in (row["share_of_members"], row["share_of_holdout"])
    )
    return f"{members} of members, {unseen} of the hold-out" if unseen else f"{members} of members"


def _quantity(row: Row) -> str:
    """Format a value of the table, gaps with their signs."""
    is_gap = row["quantity"].endswith("_gap")
    return number(row["value"], digits=DIGITS, sign=is_gap) or MISSING


def _left_after_removal(row: Row) -> str:
    """Return the number of samples that still duplicate a record, or "not searched again"."""
    if row["checked"] and row["remaining"] is None:
        return "not searched again"
    return count(row["remaining"])


def _unknown(row: Row) -> str:
    """Return the number of records without a value; "" if all or none have one."""
    missing = row["records"] - row["known"]
    return count(missing) if row["known"] and missing else ""


def _rate(row: Row) -> str:
    """Return a rate of a pair test, or what it needs."""
    if row["value"] is None:
        if row["members"] == 0:
            return "needs members"
        return f"needs {count(row['needed'])} hold-out records"
    return number(row["value"], digits=DIGITS)


def _rate_bounds(row: Row) -> str:
    return interval(row["value_low"], row["value_high"], form=number, digits=DIGITS)


_METRICS = (
    "PPG and PRG are the shares of records on which the target model has the higher precision, or "
    "recall, minus those on which the reference model does; AUCG is the area between the survival "
    "curves of recall"
)
_TARGETS = (
    " \N{LEFT SINGLE QUOTATION MARK}A against B\N{RIGHT SINGLE QUOTATION MARK}: records of A, the "
    "target model trained on A, the reference model on B."
)
_LOSSES = (
    " Final losses are means over the last epoch, target first: a reference that is trained less "
    "causes a false gap."
)

LAYOUTS: Mapping[str, Layout | Listing] = {
    "memorization_ensemble": Listing(
        title="Records that models memorize under every seed and split",
        caption="Records that the models memorize under every seed and split. Each seed draws "
        "whether a record is in A, in B or, if there is one, in the hold-out. Memorization is the "
        "mean recall of the models trained on the record, minus that of the others. p compares "
        "it with all draws of the record's sets. The table lists records at a false-discovery rate "
        f"of {FALSE_DISCOVERIES:.0%}, the {LISTED} most memorized of each k.",
        corner="Caption (source, shard, row)",
        name=_record,
        fields={
            "Trained on it": lambda row: (
                f"{row['trained_on_it']} of {row['models']} models"
                if row["uid"]
                else f"{count(row['discovered'])} of {count(row['tested'])} found"
            ),
            "Memorization": cell(gap, "memorization", missing=MISSING),
            "p": cell(chance, "p_value", missing=MISSING),
            "False-discovery rate": cell(chance, "q_value"),
        },
    ),
    "memorization_evidence": Layout(
        title="Objects recovered beyond the reference model, over seeds",
        caption=f"Memorization over seeds. {_METRICS}. Each seed has its own split into A, B "
        "and, if there is one, the hold-out. Means over seeds have 95 % intervals over seeds and "
        "records; below are the single seeds, and the difference of a setting from the default, "
        "seed by seed." + _TARGETS + _LOSSES,
        corner="Attack",
        lead="Records",
        row="attack",
        column="measure",
        lines=(
            Line("", cell(gap, "value", missing=MISSING), cell(count, "evaluated")),
            Line("95 % interval", lambda row: _bounds(row, "value")),
            Line("by seed", lambda row: ", ".join(map(gap, row["by_seed"]))),
            Line("minus the default's, 95 %", _change),
            Line("final losses", lambda row: "", _losses),
        ),
    ),
    "memorization_gaps": Layout(
        title="Objects recovered beyond the reference model",
        caption=f"Memorization of the training images' objects. {_METRICS}: both the exact area "
        "and that of the published code's 100-bin histogram. Records are those whose image shows "
        "an object; intervals are a 95 % bootstrap over them, draws the paper's 100 of 10 % with "
        "replacement. p tests that membership changes nothing, by redrawing it by lot."
        + _TARGETS
        + _LOSSES,
        corner="Attack",
        lead="Records",
        row="attack",
        column="measure",
        untrained="point_title",
        lines=(
            Line("", cell(gap, "value", missing=MISSING), cell(count, "evaluated")),
            Line("95 % interval", lambda row: _bounds(row, "value")),
            Line("net of the hold-out, 95 %", _net),
            Line("draws, mean \N{PLUS-MINUS SIGN} std", _draws),
            Line("p", cell(chance, "p_value")),
            Line("left out, without objects", lambda row: "", cell(count, "dropped")),
            Line("final losses", lambda row: "", _losses),
            Line("target's zero-shot accuracy, %", lambda row: "", _utility),
        ),
    ),
    "memorization_joined": Layout(
        title="Whether remembered records are near test images",
        caption="Are remembered records near test images, and is their caption in the image? "
        "Mean recall gap (target minus reference) of the records of A and B, mean similarity of "
        "their images to the nearest image of each test set, and mean rate of caption words "
        "written in the image; Spearman's rank correlation of each with the recall gap. "
        "A number is missing if the audit that computes it did not run.",
        corner="Records",
        lead="Number",
        row="records_of",
        column="measure",
        lines=(
            Line("", _quantity, cell(count, "records")),
            Line("correlation with the gap", cell(number, "rank_correlation")),
            Line("records without it", _unknown),
        ),
    ),
    "memorization_one_model": Layout(
        title="What one model recovers beyond its captions",
        caption="Does one model remember more than captions reveal? The references predict the "
        "objects of an image from its caption and the public set: by the words of public captions "
        "(naive Bayes, with as many labels as the target names), by the images of the k public "
        "captions nearest to it, or by a second model that did not train on the records. PRG is "
        "the share of records on which the target has the higher recall minus that on which the "
        "reference does; AUCG is the mean difference of recalls. A model may predict objects "
        "better than words do: the hold-out measures that, and the gap net of it is what training "
        "on a record adds. Less two models' is that net gap minus the one against a second model; "
        "0 means that one model reveals as much as two. Agreement is Spearman's correlation, over "
        "records, with the gap between two models. Both gaps share the target's recall, so they "
        "agree even without memory; the agreement on the hold-out measures this. Intervals are "
        "95 %. Means over seeds are of the default model of A under each seed, with its own split "
        "into A, B and hold-out; their intervals are also over seeds.",
        corner="Target and reference",
        row="attack",
        column="part",
        lines=(
            Line("", cell(gap, "value", missing=MISSING)),
            Line("95 % interval", lambda row: _bounds(row, "value")),
            Line("records", cell(count, "records")),
        ),
    ),
    "memorization_overlaps": Layout(
        title="Samples that duplicate a record of another set",
        caption="Samples that duplicate a record of A, B or the hold-out. Two records that "
        "duplicate each other were both removed, in any sets; for a public sample and a record, "
        "only the public sample. Below: the duplicates left, if all pairs were searched again "
        "(`memorization.verify_overlaps`). A sample that duplicates several records counts once "
        "for each matching method.",
        corner="Sets",
        lead="Samples compared",
        row="sets",
        column="how",
        lines=(
            Line(
                "",
                lambda row: f"{count(row['removed'])} removed" if row["checked"] else "not checked",
                lambda row: f"{count(row['one_drawn'])} and {count(row['other_drawn'])}",
            ),
            Line(
                "left after removal",
                _left_after_removal,
                lambda row: f"{count(row['one_samples'])} and {count(row['other_samples'])}",
            ),
        ),
    ),
    "memorization_pairs": Layout(
        title="Whether a model knows the pairs it was trained on",
        caption="Does a model know its training pairs? The score of a pair is the cosine "
        "of its caption and image. AUC is the chance that a training pair scores higher than one "
        "of the hold-out: 0.5 is a coin toss, 1 means that the model knows every pair. TPR at 1 %"
        " FPR is the share of training pairs above the score that 1 % of the hold-out exceeds. "
        "Intervals are 95 %, over training pairs and hold-out. Means over seeds are of both "
        "default models under each seed; their intervals are also over seeds. The reference model"
        " saw neither set: if its AUC excludes 0.5, the sets differ for another reason than "
        "training, and the other rows are no evidence. A high AUC of the cosine with an AUC near "
        "0.5 of the recall gap means that the model knows its training pairs, but their captions "
        "find few objects that they do not name.",
        corner="Test",
        lead="Members, hold-out",
        row="test",
        column="measure",
        row_note=lambda row: (
            " \N{EM DASH} not 0.5: the sets differ" if row["control_fails"] else ""
        ),
        lines=(
            Line(
                "", _rate, lambda row: f"{count(row['members'])}, {count(row['holdout_records'])}"
            ),
            Line("95 % interval", _rate_bounds),
        ),
    ),
    "memorization_records": Layout(
        title="The most memorized records",
        caption=f"The {LISTED} records of A and B with the largest recall gaps, for each number k "
        "of public images that predict. Objects: those of the image that the target and the "
        "reference model recall, out of all it shows. Gaps are target minus reference; similarity "
        "is to the nearest image of a test set; the rate is that of caption words written in the "
        "image. Captions are cut after 100 letters.",
        corner="Caption (set; source, shard, row)",
        lead="Objects",
        row="record",
        column="measure",
        row_note=lambda row: (
            f" ({row['set'].upper()}; {row['source']}, {row['shard']}, {row['row']})"
        ),
        lines=(
            Line(
                "",
                _quantity,
                lambda row: (
                    f"{row['target_correct']} and {row['reference_correct']} of {row['truths']}"
                ),
            ),
            Line("with as large a gap", _as_large),
        ),
    ),
    "memorization_sets": Listing(
        title="The sets that models are trained and tested on",
        caption="The sets: samples asked for (a share of all, if below or equal to 1.0), drawn, "
        "removed because they duplicate a record, and in the set; and the objects in "
        "their images, each label counted once per image.",
        corner="Source",
        name=lambda row: f"{row['source_title']}, {row['set_title']}",
        fields={
            "Asked for": lambda row: row["asked"],
            "Drawn": cell(count, "allotted"),
            "Removed": cell(count, "left_for_overlaps"),
            "In the set": cell(count, "samples"),
            "Not annotated": cell(count, "not_annotated"),
            "Without objects": cell(count, "without_objects"),
            "Objects per image": cell(number, "objects_per_picture", missing=MISSING),
            "Labels": cell(count, "labels"),
        },
    ),
}
