"""How each report table looks in print: the one home of headings, captions and number formats.

A report table is long, one row per cell of the printed one. A layout says which of its columns
name the printed rows and columns, and what each printed line of a row says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]  # a row of a report table, by column
Cell = Callable[[Row], str]

MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"
MISSING = "\N{EN DASH}"
DASH = "\N{EN DASH} "  # before an indented row, as in the papers


@dataclass(frozen=True)
class Line:
    """One printed line of a row. A named line is left out where it has nothing to say."""

    name: str  # "": the line that bears the row's own name
    body: Cell  # under each heading, from the row of that cell
    lead: Cell = lambda row: ""  # in the lead column, from the first of the row's cells


@dataclass(frozen=True)
class Layout:
    """Printed rows are runs of equal `position`; printed columns are the values of `column`."""

    caption: str
    corner: str  # the heading over the rows' names
    row: str  # column that names a printed row
    column: str  # column that tells printed columns apart; `<column>_title` heads them
    lines: tuple[Line, ...]
    lead: str = ""  # heading of the column between names and cells; "" for none


def count(value: int | None) -> str:
    """Return a count in groups of three, or nothing for None.

    >>> count(8342783), count(-5), count(None)
    ('8\\u202f342\\u202f783', '\\u22125', '')
    """
    return "" if value is None else f"{value:,}".replace(",", THIN).replace("-", MINUS)


def percent(value: float | None, *, digits: int = 2, sign: bool = False) -> str:
    """Return a fraction in percent, or nothing for None.

    >>> percent(0.5021), percent(-0.1081, digits=1, sign=True), percent(-0.0, sign=True)
    ('50.21', '\\u221210.8', '0.00')
    """
    if value is None:
        return ""
    text = f"{100 * value:{'+' if sign else ''}.{digits}f}"
    is_zero = not text.strip("+-0.")
    return text.lstrip("+-") if is_zero else text.replace("-", MINUS)


def interval(low: float | None, high: float | None, *, digits: int = 1, sign: bool = False) -> str:
    """Return the bounds of fractions in percent, or nothing where there are none.

    >>> interval(0.4166, 0.479)
    '[41.7, 47.9]'
    """
    if low is None or high is None:
        return ""
    bounds = [percent(bound, digits=digits, sign=sign) for bound in (low, high)]
    return f"[{', '.join(bounds)}]"


def _size(row: Row) -> str:
    if row["removed"] is None:
        return count(row["size"]) or MISSING
    return count(-row["removed"])


def _published_size(row: Row) -> str:
    if row["published_removed"] is None:
        return count(row["published_size"])
    return count(-row["published_removed"])


def _share(row: Row) -> str:
    if row["share"] is None:
        return ""
    return f"{percent(row['share'])} {interval(row['share_low'], row['share_high'], digits=2)}"


_ACCURACY = (
    Line("", lambda row: percent(row["accuracy"]) or MISSING, _size),
    Line("95 % interval", lambda row: interval(row["accuracy_low"], row["accuracy_high"])),
    Line("in the paper", lambda row: percent(row["published_accuracy"]), _published_size),
    Line("relative change, %", lambda row: percent(row["relative_change"], digits=1, sign=True)),
    Line(
        "change, 95 % interval",
        lambda row: interval(row["relative_change_low"], row["relative_change_high"], sign=True),
    ),
    Line(
        "change in the paper",
        lambda row: percent(row["published_relative_change"], digits=1, sign=True),
    ),
)

_DIFFERENCES = ("effect", "excess")  # measures of the evidence that may be negative

_ACCURACY_NOTE = (
    "\N{LEFT SINGLE QUOTATION MARK}X-pruned\N{RIGHT SINGLE QUOTATION MARK} lacks every sample that "
    "is more similar to some test image of X than the whole small set is; its size is given as the "
    "number of samples removed. Intervals are exact for accuracies and a bootstrap over the test "
    "images, paired with the unpruned data set, for relative changes."
)

LAYOUTS: Mapping[str, Layout] = {
    "similarity_evidence": Layout(
        caption="What pruning to the gap of one test set costs: mean top-1 accuracy (%) over seeds "
        "of models trained on the pruned set and on a random set of the same size, and their "
        "difference, also less the difference on the reference test set. Student's 95 % intervals "
        "over seeds.",
        corner="Test set",
        lead="Images",
        row="testset_title",
        column="measure",
        lines=(
            Line(
                "",
                lambda row: percent(row["value"], digits=1, sign=row["measure"] in _DIFFERENCES),
                lambda row: count(row["images"]),
            ),
            Line(
                "95 % interval",
                lambda row: interval(
                    row["value_low"], row["value_high"], sign=row["measure"] in _DIFFERENCES
                ),
            ),
        ),
    ),
    "similarity_table1": Layout(
        caption="Corrected zero-shot accuracy (top-1, %), the small set added to the large one. "
        + _ACCURACY_NOTE,
        corner="Dataset",
        lead="Size",
        row="dataset",
        column="testset",
        lines=_ACCURACY,
    ),
    "similarity_table2": Layout(
        caption="Test images with a near duplicate in the train sets: an image at a distance "
        "(1 \N{MINUS SIGN} cosine similarity) below the threshold, 0.05 in the paper. "
        "Shares have exact 95 % intervals.",
        corner="Test set",
        lead="Images",
        row="testset_title",
        column="corpus",
        lines=(
            Line("", lambda row: count(row["near_duplicates"]), lambda row: count(row["images"])),
            Line("share, % (95 % interval)", _share),
            Line(
                "in the paper",
                lambda row: count(row["published_near_duplicates"]),
                lambda row: count(row["published_images"]),
            ),
        ),
    ),
    "similarity_table4": Layout(
        caption="Corrected zero-shot accuracy (top-1, %), the small set not added. "
        + _ACCURACY_NOTE,
        corner="Dataset",
        lead="Size",
        row="dataset",
        column="testset",
        lines=_ACCURACY,
    ),
    "similarity_table6": Layout(
        caption="Train samples near the similarity gap: those whose normalized similarity exceeds "
        "the threshold, 0.9 in the paper. The large set is the one pruned to each test set, the "
        "small set is whole.",
        corner="Test set",
        row="testset_title",
        column="corpus",
        lines=(
            Line("", lambda row: count(row["near_gap"])),
            Line(
                "without a normalized similarity (gap of 0 or less)",
                lambda row: count(row["not_normalized"] or None),
            ),
            Line("in the paper", lambda row: count(row["published_near_gap"])),
        ),
    ),
    "similarity_table7": Layout(
        caption="Test images (%) whose nearest train image lies in the large set rather than in "
        "the small one, strictly. Intervals are exact.",
        corner="Test set",
        lead="Images",
        row="testset_title",
        column="corpus",
        lines=(
            Line(
                "",
                lambda row: percent(row["share"]) or MISSING,
                lambda row: count(row["images"]),
            ),
            Line(
                "95 % interval",
                lambda row: interval(row["share_low"], row["share_high"], digits=2),
            ),
            Line("equally near, images", lambda row: count(row["ties"] or None)),
            Line(
                "in the paper",
                lambda row: percent(row["published_share"]),
                lambda row: count(row["published_images"]),
            ),
        ),
    ),
}
