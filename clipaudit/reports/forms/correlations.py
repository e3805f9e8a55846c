"""Draw accuracy by similarity: points with intervals and a logistic curve for each test set."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

from clipaudit.plaindata import Row, Rows
from clipaudit.reports.drawing import SMALLEST_POINTS, series_look, style
from clipaudit.reports.layouts import MINUS, short_count
from clipaudit.reports.panels import by, finish, new_panels, write_note

_LINES: tuple[Any, ...] = (
    *("-", "--", ":", "-."),
    *((0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 3)), (0, (1, 3))),
)
_SPREAD = 0.5  # share of a bin over which the test sets' intervals are spread
_CURVE_POINTS = 101
_HEIGHT = 2.3  # inches, of the panel
_COUNT = 0.17  # inches, of a line of counts
_COUNTED = 10  # bins: with more, their counts would overlap
_COUNTED_SETS = 6  # test sets: with more, their counts would be higher than the panel
_HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markersize": 6}


@style()
def draw_correlations(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the accuracies of a table of `similarity_correlation.sql`, all test sets in a panel.

    A point is near the middle of its bin, with test sets beside each other in order. A curve is the
    logistic fit over the range of its test set's bins. Points of the paper are hollow, at the
    published similarity, and appear only beside points of ours. With few bins and test sets, the
    number of images in each is above the panel, with a line for each test set. Options: `x_label`,
    and `empty`, the note if there is nothing to show. Test sets differ in marker and line as well
    as colour; from the ninth on, colours return with small hollow markers.
    """
    rows = table.to_pylist()
    sets = by(rows, "position")
    bins = {row["bin_low"] for row in filter(_is_filled, rows)}
    counted = len(bins) <= _COUNTED and len(sets) <= _COUNTED_SETS
    figure, (axes,) = new_panels(1, height=_HEIGHT + counted * _COUNT * len(sets))
    handles = []
    for place, members in enumerate(sets.values()):
        shift = _SPREAD * (place - (len(sets) - 1) / 2) / len(sets)
        handles.append(_draw_set(axes, place, shift, members))
        if counted:
            _write_counts(axes, len(sets) - 1 - place, members, series_look(place)["color"])
    is_empty = not any(map(_is_filled, rows))
    if is_empty:
        write_note(axes, options["empty"])
    elif any(row["published_accuracy"] is not None for row in rows):
        handles.append(Line2D([], [], label="in the paper", **_HOLLOW, marker="o", color="black"))
    axes.set_ylim(0, 100)
    finish(figure, [axes], (options["x_label"], "top-1 accuracy (%)"), handles, bare=is_empty)
    return figure


def _draw_set(axes: Axes, place: int, shift: float, bins: Rows) -> Line2D:
    """Draw one test set and return its legend handle; `shift` is in widths of a bin."""
    look: dict[str, Any] = {
        **series_look(place),
        "linewidth": 1,
        "clip_on": False,  # draw whole markers at 0 and 100
    }
    line = _LINES[place % len(_LINES)]
    filled = list(filter(_is_filled, bins))
    accuracy, low, high = (
        np.array([100 * row[name] for row in filled])
        for name in ("accuracy", "accuracy_low", "accuracy_high")
    )
    left, right = (np.array([row[name] for row in filled]) for name in ("bin_low", "bin_high"))
    middles = (left + right) / 2 + shift * (right - left)
    margins = np.maximum([accuracy - low, high - accuracy], 0)
    axes.errorbar(
        middles,
        accuracy,
        yerr=margins,
        elinewidth=0.7,
        **look | {"linestyle": "none"},
    )
    papers = [row for row in bins if filled and row["published_accuracy"] is not None]
    for row in papers:
        x, y = row["published_similarity"], 100 * row["published_accuracy"]
        axes.plot([x], [y], **look | _HOLLOW)
    if filled and filled[0]["slope"] is not None:
        x = np.linspace(filled[0]["bin_low"], filled[-1]["bin_high"], _CURVE_POINTS)
        logits = filled[0]["intercept"] + filled[0]["slope"] * x
        chance = 0.5 * (1 + np.tanh(0.5 * logits))  # the logistic function, without overflow
        axes.plot(x, 100 * chance, linestyle=line, **look | {"marker": ""})
    return Line2D([], [], linestyle=line, label=_label(bins[0]), **look)


def _write_counts(axes: Axes, line: int, bins: Rows, colour: str) -> None:
    """Write the number of images of each bin above the panel, one line per test set."""
    height = 1.4 + line
    panel: Any = axes.transAxes
    above = Affine2D().translate(0, -1).scale(1, _COUNT) + axes.figure.dpi_scale_trans
    above += ScaledTranslation(0, 1, panel)  # lines, from 1 at the top of the panel
    filled = list(filter(_is_filled, bins))
    place: dict[str, Any] = {"color": colour, "fontsize": SMALLEST_POINTS, "va": "bottom"}
    if filled:
        where = blended_transform_factory(panel, above)
        axes.text(-0.03, height, "images", ha="right", transform=where, **place)
    for row in filled:
        middle = (row["bin_low"] + row["bin_high"]) / 2
        where = blended_transform_factory(axes.transData, above)
        axes.text(middle, height, short_count(row["images"]), ha="center", transform=where, **place)


def _is_filled(row: Row) -> bool:
    return row["accuracy"] is not None


def _label(row: Row) -> str:
    title, correlation = row["testset_title"], row["rank_correlation"]
    if correlation is None:
        return f"{title}"
    number = f"{correlation:.2f}".replace("-", MINUS)
    return f"{title}, \N{GREEK SMALL LETTER RHO} = {number}"
