"""Accuracy by similarity: points with intervals, and a logistic curve, for each test set."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from clipaudit.plaindata import Row, Rows
from clipaudit.reports.drawing import SERIES_COLOURS, SERIES_MARKERS, SMALLEST_POINTS, style
from clipaudit.reports.layouts import MINUS, short_count
from clipaudit.reports.panels import by, finish, new_panels, write_note

_LINES: tuple[Any, ...] = (
    *("-", "--", ":", "-."),
    *((0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 3)), (0, (1, 3))),
)
_SPREAD = 0.5  # of a bin: over so much of it the test sets' intervals stand beside each other
_CURVE_POINTS = 101
_HEIGHT = 2.3  # inches, of the panel
_COUNT = 0.17  # inches, of a line of counts
_COUNTED = 10  # bins: with more, their counts would run into each other
_HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markersize": 6}


@style()
def draw_correlations(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the accuracies of a table of `similarity_correlation.sql`, all test sets in a panel.

    A point stands near the middle of its bin, test sets beside each other in their order. A curve
    is the logistic fit over the range of its test set's bins. Points of the paper are hollow, at
    the similarity that it prints, and shown beside points of ours alone. Above the panel stands how
    many images each bin has, a line for each test set, if there are few bins. Options: `x_label`,
    and `empty`, what is said when there is nothing to show. Test sets differ in marker and line,
    too, not in colour alone.
    """
    rows = table.to_pylist()
    figure, (axes,) = new_panels(1, height=_HEIGHT)
    sets = by(rows, "position")
    counted = len({row["bin_low"] for row in filter(_is_filled, rows)}) <= _COUNTED
    handles = []
    for place, bins in enumerate(sets.values()):
        shift = _SPREAD * (place - (len(sets) - 1) / 2) / len(sets)
        handles.append(_draw_set(axes, place, shift, bins))
        if counted:
            _write_counts(axes, len(sets) - 1 - place, bins, _colour(place))
    is_empty = not any(map(_is_filled, rows))
    if is_empty:
        write_note(axes, options["empty"])
    elif any(row["published_accuracy"] is not None for row in rows):
        handles.append(Line2D([], [], label="in the paper", **_HOLLOW, marker="o", color="black"))
    axes.set_ylim(0, 100)
    finish(figure, [axes], (options["x_label"], "top-1 accuracy (%)"), handles, bare=is_empty)
    return figure


def _draw_set(axes: Axes, place: int, shift: float, bins: Rows) -> Line2D:
    """Draw one test set and return what stands for it in the legend; `shift` in widths of a bin."""
    look: dict[str, Any] = {
        "color": _colour(place),
        "linewidth": 1,
        "clip_on": False,  # markers at 0 and at 100 are whole
    }
    marker = SERIES_MARKERS[place % len(SERIES_MARKERS)]
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
        marker=marker,
        elinewidth=0.7,
        **look | {"linestyle": "none"},
    )
    papers = [row for row in bins if filled and row["published_accuracy"] is not None]
    for row in papers:
        x, y = row["published_similarity"], 100 * row["published_accuracy"]
        axes.plot([x], [y], marker=marker, **look | _HOLLOW)
    if filled and filled[0]["slope"] is not None:
        x = np.linspace(filled[0]["bin_low"], filled[-1]["bin_high"], _CURVE_POINTS)
        logits = filled[0]["intercept"] + filled[0]["slope"] * x
        chance = 0.5 * (1 + np.tanh(0.5 * logits))  # the logistic function, without overflow
        axes.plot(x, 100 * chance, linestyle=line, **look)
    return Line2D([], [], marker=marker, linestyle=line, label=_label(bins[0]), **look)


def _colour(place: int) -> str:
    return SERIES_COLOURS[place % len(SERIES_COLOURS)]


def _write_counts(axes: Axes, line: int, bins: Rows, colour: str) -> None:
    """Write how many images each bin has, above the panel, in a line from the lowest one up."""
    height = 1.03 + _COUNT / _HEIGHT * line
    filled = list(filter(_is_filled, bins))
    place: dict[str, Any] = {"color": colour, "fontsize": SMALLEST_POINTS, "va": "bottom"}
    if filled:
        axes.text(-0.03, height, "images", ha="right", transform=axes.transAxes, **place)
    for row in filled:
        middle = (row["bin_low"] + row["bin_high"]) / 2
        where = axes.get_xaxis_transform()
        axes.text(middle, height, short_count(row["images"]), ha="center", transform=where, **place)


def _is_filled(row: Row) -> bool:
    return row["accuracy"] is not None


def _label(row: Row) -> str:
    title, correlation = row["testset_title"], row["rank_correlation"]
    if correlation is None:
        return f"{title}"
    number = f"{correlation:.2f}".replace("-", MINUS)
    return f"{title}, \N{GREEK SMALL LETTER RHO} = {number}"
