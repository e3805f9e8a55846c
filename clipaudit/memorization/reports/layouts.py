"""How the tables of the memorization audit look in print: headings, captions, lines."""

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

FALSE_DISCOVERIES = 0.05  # the share of listed records that are none
LISTED = 20  # records of each k that are printed; the audit's tables hold them all
DIGITS = 3  # of a gap
_LEAST_P = 1e-4  # smaller ones are printed as below it


def gap(value: float | None) -> str:
    """Return a gap with its sign, or nothing for None.

    >>> gap(0.0123), gap(-0.5), gap(0.0)
    ('+0.012', '\\u22120.500', '0.000')
    """
    return number(value, digits=DIGITS, sign=True)


def chance(p_value: float | None) -> str:
    """Return a p value, or nothing for None.

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
    """Return the name of a listed record, or of all together."""
    if not row["uid"]:
        return str(row["record"])
    return f"{row['record']} ({row['source_title']}, {row['shard']}, {row['row']})"


def _as_large(row: Row) -> str:
    """Say how many records have so large a gap, of those trained on and of those not."""
    if row["quantity"] != "recall_gap":
        return ""
    members, unseen = (
        None if share is None else f"{number(100 * share)} %"
        for share in (row["share_of_members"], row["share_of_holdout"])
    )
    return f"{members} of members, {unseen} of the hold-out" if unseen else f"{members} of members"


def _quantity(row: Row) -> str:
    """Return a value of the table, gaps with their signs."""
    is_gap = row["quantity"].endswith("_gap")
    return number(row["value"], digits=DIGITS, sign=is_gap) or MISSING


def _left_after_removal(row: Row) -> str:
    """Say how many samples still repeat a record, or that nobody searched again."""
    if row["checked"] and row["remaining"] is None:
        return "not searched again"
    return count(row["remaining"])


def _unknown(row: Row) -> str:
    """Say how many records of the group have no value, where only some have one."""
    missing = row["records"] - row["known"]
    return count(missing) if row["known"] and missing else ""


def _rate(row: Row) -> str:
    """Return a rate of a pair test, or what it needs."""
    if row["value"] is None:
        return f"needs {count(row['needed'])} hold-out records"
    return number(row["value"], digits=DIGITS)


def _rate_bounds(row: Row) -> str:
    return interval(row["value_low"], row["value_high"], form=number, digits=DIGITS)


_METRICS = (
    "PPG and PRG are the shares of records on which the target model has the higher precision, or "
    "recall, less those on which the reference model has; AUCG is the area between the survival "
    "curves of recall"
)
_TARGETS = (
    " \N{LEFT SINGLE QUOTATION MARK}A against B\N{RIGHT SINGLE QUOTATION MARK}: records of A, the "
    "target model trained on A, the reference model on B. The hold-out is in neither set: what the "
    "model of A finds more of it is a difference of two trainings, and no memorization. It cancels "
    "from the mean of both directions; a single direction is stated net of it."
)
_LOSSES = (
    " Final losses are means over the last epoch, target first: a reference that is trained less "
    "fakes a gap."
)

LAYOUTS: Mapping[str, Layout | Listing] = {
    "memorization_ensemble": Listing(
        title="Records that models memorize whatever their seed and cut",
        caption="Records that the models memorize, whatever their seed and cut. Under each seed "
        "lot decides whether a record is in A, in B or in the hold-out. Memorization is the mean "
        "recall of the models that were trained on the record, less that of the others; p compares "
        "it with all draws of the record's sets; listed are records at a false-discovery rate of "
        f"{FALSE_DISCOVERIES:.0%}, the {LISTED} most memorized of each k.",
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
        caption=f"Memorization over seeds. {_METRICS}. Each seed has a cut of its own into A, B "
        "and hold-out. Means over seeds with 95 % intervals over seeds and records; below, the "
        "single seeds, and how a setting differs from the default one, seed by seed."
        + _TARGETS
        + _LOSSES,
        corner="Attack",
        lead="Records",
        row="attack",
        column="measure",
        lines=(
            Line("", cell(gap, "value", missing=MISSING), cell(count, "evaluated")),
            Line("95 % interval", lambda row: _bounds(row, "value")),
            Line("by seed", lambda row: ", ".join(map(gap, row["by_seed"]))),
            Line("less the default's, 95 %", _change),
            Line("final losses", lambda row: "", _losses),
        ),
    ),
    "memorization_gaps": Layout(
        title="Objects recovered beyond the reference model",
        caption=f"Memorization of the training pictures' objects. {_METRICS}: the exact ones, and "
        "those of the published code's 100-bin histogram. Records are those whose picture shows an "
        "object; intervals are a 95 % bootstrap over them, draws the paper's 100 of 10 % with "
        "replacement. p is that of membership changing nothing, by drawing it by lot again."
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
        caption="Are remembered records near to test images, and is their caption in the picture? "
        "Mean recall gap (target less reference) of the records of A and B, mean similarity of "
        "their pictures to the nearest image of each test set, and mean rate of caption words that "
        "are written in the picture; Spearman's rank correlation of each with the recall gap. "
        "Without a number: the audit that knows it did not run.",
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
        caption="Does one model remember more than captions tell? The references predict the "
        "objects of a picture from its caption and the public set: by the words of public captions "
        "(naive Bayes, with as many labels as the target names), by the pictures of the k public "
        "captions nearest to it, or by a second model that did not train on the records. PRG is "
        "the share of records on which the target has the higher recall less that on which the "
        "reference has, AUCG the mean difference of recalls. A model may know pictures better than "
        "words do: the hold-out measures that, and net of it is what training on a record adds. "
        "Less two models' is that net gap less the one against a second model, which is 0 where "
        "one model tells as much as two. Agreement is Spearman's correlation, over records, with "
        "the gap between two models. Both share the target's recall, so they agree without memory "
        "too: that of the hold-out says how far. Intervals are of 95 %. Means over seeds are of "
        "the default model of A under each seed, which has a cut of its own into A, B and "
        "hold-out, and their intervals also over seeds.",
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
        title="Samples that repeat a record of another set",
        caption="Samples that repeat a record of A, B or the hold-out. Of two records that repeat "
        "each other both were removed, whatever their sets; of a public sample and a record the "
        "public sample. Below: what was left, if all pairs were searched again "
        "(`memorization.verify_overlaps`). A sample that repeats several counts with one of them, "
        "for each way of looking.",
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
        caption="Does a model know the pairs that it trained on? The score of a pair is the cosine "
        "of its caption and picture. AUC is the chance that a training pair scores higher than one "
        "of the hold-out: 0.5 is a coin toss, 1 means that the model knows every pair. TPR at 1 %"
        " FPR is the share of training pairs above the score that 1 % of the hold-out exceeds. "
        "Intervals are of 95 %, over training pairs and hold-out. Means over seeds are of both "
        "default models under each seed, and their intervals also over seeds. The reference model"
        " saw neither set: where its AUC excludes 0.5, the sets differ for another reason than "
        "training, and the other rows are no evidence. A high AUC of the cosine beside one near "
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
        "of public images that predict. Objects: those of the picture that the target and the "
        "reference model recall, of all that it shows. Gaps are target less reference; similarity "
        "is to the nearest image of a test set, the rate that of caption words written in the "
        "picture. Some records of the hold-out, which no model was trained on, have as large a "
        "gap: the more of them, the less a listed record says by itself. Captions are cut after "
        "100 letters.",
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
        "removed because they repeat a record, and in the set; and the objects that "
        "their pictures show, each label counted once a picture.",
        corner="Source",
        name=lambda row: f"{row['source_title']}, {row['set_title']}",
        fields={
            "Asked for": lambda row: row["asked"],
            "Drawn": cell(count, "allotted"),
            "Removed": cell(count, "left_for_overlaps"),
            "In the set": cell(count, "samples"),
            "Not annotated": cell(count, "not_annotated"),
            "Without objects": cell(count, "without_objects"),
            "Objects a picture": cell(number, "objects_per_picture", missing=MISSING),
            "Labels": cell(count, "labels"),
        },
    ),
}
