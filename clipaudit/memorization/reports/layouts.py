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


def _quantity(row: Row) -> str:
    """Return a value of the table, gaps with their signs."""
    is_gap = row["quantity"].endswith("_gap")
    return number(row["value"], digits=DIGITS, sign=is_gap) or MISSING


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
    "target model trained on A, the reference model on B; the hold-out is in neither set, so that "
    "nothing is to be found there (its target is the model of A)."
)
_LOSSES = (
    " Final losses are means over the last epoch, target first: a reference that is trained less "
    "fakes a gap."
)

LAYOUTS: Mapping[str, Layout | Listing] = {
    "memorization_evidence": Layout(
        caption=f"Memorization over seeds. {_METRICS}. Means over seeds with Student's 95 % "
        "intervals; below, for how many of the single seeds a bootstrap over records excludes 0, "
        "and how a setting differs from the default one, seed by seed." + _TARGETS + _LOSSES,
        corner="Attack",
        lead="Records",
        row="attack",
        column="measure",
        lines=(
            Line("", cell(gap, "value", missing=MISSING), cell(count, "evaluated")),
            Line("95 % interval", lambda row: _bounds(row, "value")),
            Line("seeds that exclude 0", lambda row: f"{row['excluding_zero']} of {row['seeds']}"),
            Line("less the default's, 95 %", _change),
            Line("final losses", lambda row: "", _losses),
        ),
    ),
    "memorization_gaps": Layout(
        caption=f"Memorization of the training pictures' objects. {_METRICS}: the exact ones, and "
        "those of the published code's 100-bin histogram. Records are those whose picture shows an "
        "object; intervals are a 95 % bootstrap over them, draws the paper's 100 of 10 % with "
        "replacement. p is that of no difference between the models, by swapping them record by "
        "record." + _TARGETS + _LOSSES + " Not in this grid: no such models were asked for.",
        corner="Attack",
        lead="Records",
        row="attack",
        column="measure",
        row_note=lambda row: "" if row["in_grid"] else ", not in this grid",
        lines=(
            Line("", cell(gap, "value", missing=MISSING), cell(count, "evaluated")),
            Line("95 % interval", lambda row: _bounds(row, "value")),
            Line("draws, mean \N{PLUS-MINUS SIGN} std", _draws),
            Line("p", cell(chance, "p_value")),
            Line("left out, without objects", lambda row: "", cell(count, "dropped")),
            Line("final losses", lambda row: "", _losses),
            Line("target's zero-shot accuracy, %", lambda row: "", _utility),
        ),
    ),
    "memorization_joined": Layout(
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
        caption="Does one model remember more than captions tell? The references predict the "
        "objects of a picture from its caption and the public set: by the words of public captions "
        "(naive Bayes, with as many labels as the target names), by the pictures of the k public "
        "captions nearest to it, or by a second model that did not train on the records. PRG is "
        "the share of records on which the target has the higher recall less that on which the "
        "reference has, AUCG the mean difference of recalls. A model may know pictures better than "
        "words do: the hold-out measures that, and net of it is what training on a record adds. "
        "Agreement is Spearman's correlation, over records, with the gap between two models. Both "
        "share the target's recall, so they agree without memory too: that of the hold-out says "
        "how far. Intervals are of 95 %.",
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
        caption="Samples of the later set that repeat a sample of the earlier one: removed, and "
        "left when all pairs were searched again. A sample that repeats several sets counts with "
        "one of them, for each way of looking.",
        corner="Sets",
        lead="Samples compared",
        row="sets",
        column="how",
        lines=(
            Line(
                "",
                lambda row: f"{count(row['removed'])} removed" if row["checked"] else "not checked",
                lambda row: f"{count(row['earlier_drawn'])} and {count(row['later_drawn'])}",
            ),
            Line(
                "left after removal",
                cell(count, "remaining"),
                lambda row: f"{count(row['earlier_samples'])} and {count(row['later_samples'])}",
            ),
        ),
    ),
    "memorization_pairs": Layout(
        caption="Does a model know the pairs that it trained on? The score of a pair is the cosine "
        "of its caption and picture. AUC is the chance that a training pair scores higher than one "
        "of the hold-out: 0.5 is a coin toss, 1 means that the model knows every pair. TPR at 1 % "
        "FPR is the share of training pairs above the score that 1 % of the hold-out exceeds. "
        "Intervals are of 95 %, over training pairs and hold-out. The reference model saw neither "
        "set: where its AUC excludes 0.5, the sets differ for another reason than training, and "
        "the other rows are no evidence. A high AUC of the cosine beside one near 0.5 of the "
        "recall gap means that the model knows its training pairs, but their captions find few "
        "objects that they do not name.",
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
        caption=f"The {LISTED} records of A and B with the largest recall gaps, for each number k "
        "of public images that predict. Objects: those of the picture that the target and the "
        "reference model recall, of all that it shows. Gaps are target less reference; similarity "
        "is to the nearest image of a test set, the rate that of caption words written in the "
        "picture. Captions are cut after 100 letters.",
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
        ),
    ),
    "memorization_sets": Listing(
        caption="The sets: samples asked for (a share of all, if below or equal to 1.0), drawn, "
        "left for they repeat a sample of an earlier set, and in the set; and the objects that "
        "their pictures show, each label counted once a picture.",
        corner="Source",
        name=lambda row: f"{row['source_title']}, {row['set_title']}",
        fields={
            "Asked for": lambda row: row["asked"],
            "Drawn": cell(count, "allotted"),
            "Left": cell(count, "left_for_overlaps"),
            "In the set": cell(count, "samples"),
            "Not annotated": cell(count, "not_annotated"),
            "Without objects": cell(count, "without_objects"),
            "Objects a picture": cell(number, "objects_per_picture", missing=MISSING),
            "Labels": cell(count, "labels"),
        },
    ),
}
