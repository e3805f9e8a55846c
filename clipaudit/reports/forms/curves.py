"""Draw curves of accuracy over the size of the training set, with a panel for each test set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import ScaledTranslation

from clipaudit.plaindata import Row
from clipaudit.reports.drawing import PALETTE, style
from clipaudit.reports.layouts import count
from clipaudit.reports.panels import by, finish, new_panels, title_panel, write_note

_X = {"size": "training samples", "removed": "samples removed", "share": "samples kept (%)"}
_Y = {"accuracy": "top-1 accuracy (%)", "relative_change": "relative change of accuracy (%)"}
_THOUSAND, _MILLION = 1_000, 1_000_000
_HEIGHT = 1.7  # inches, of a panel
_MARGIN = 0.06  # of the horizontal axis, beyond its first and last point

# Line and marker of prunings, in addition to their colour.
_PRUNINGS = {"near": ("-", "v"), "far": ("--", "^"), "rand": (":", "s")}
# Styles of groups: broad and thin lines, with markers that are full, hollow or half full.
_GROUPS: tuple[Mapping[str, Any], ...] = (
    {"linewidth": 1.4},
    {"linewidth": 0.7, "markerfacecolor": "white"},
    {"linewidth": 1.4, "fillstyle": "left", "markerfacecoloralt": "white"},
    {"linewidth": 0.7, "fillstyle": "bottom", "markerfacecoloralt": "white"},
    {"linewidth": 1.4, "fillstyle": "right", "markerfacecoloralt": "white"},
    {"linewidth": 0.7, "fillstyle": "top", "markerfacecoloralt": "white"},
    {"linewidth": 1.4, "markerfacecolor": "white"},
    {"linewidth": 0.7},
)
_APART = 1.6  # points in print between series, so that intervals do not hide each other


@dataclass(frozen=True)
class _Point:
    """The drawn values of a row, in the units of the axes; missing bounds are NaN."""

    row: Row
    x: float
    y: float
    low: float
    high: float
    is_baseline: bool  # the unpruned model


@style()
def draw_curves(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the curves of a table of `similarity_curves.sql`.

    Options: `x`, one of the columns `size`, `removed` and `share`; `y`, `accuracy` or
    `relative_change`. A series is a line through its points in the order of x, including the
    unpruned model, which is a star. Models without a value have no point; a panel without any says
    so. Series are slightly offset from each other. Panels share their vertical axis, which includes
    0.
    """
    rows = table.to_pylist()
    panels = by(rows, "panel_position")
    figure, all_axes = new_panels(len(panels), height=_HEIGHT)
    scale, x_label = _scale(rows, options["x"])
    points = _points(rows, options["x"], options["y"], scale)
    is_alone = len({(row["recipe"], row["baseline"]) for row in rows}) == 1
    handles: dict[tuple[int, int], Line2D] = {}
    for axes, (panel, members) in zip(all_axes, panels.items(), strict=True):
        title_panel(axes, members[0]["panel_title"])
        if options["y"] == "relative_change":
            axes.axhline(0, color=PALETTE["quiet"], linewidth=0.6, zorder=0)
        own = [point for point in points if point.row["panel_position"] == panel]
        drawn = _draw_series(axes, own) | _draw_baselines(axes, own, is_alone=is_alone)
        handles = drawn | handles
        if not own:
            write_note(axes, "no images")
    _limit_y(all_axes, points)
    _limit_x(all_axes, [point.x for point in points])
    legend = [handles[key] for key in sorted(handles)]
    finish(figure, all_axes, (x_label, _Y[options["y"]]), legend, bare=not points)
    return figure


def _points(rows: Sequence[Row], x: str, y: str, scale: float) -> list[_Point]:
    """Return the rows that have both coordinates, by x."""
    points = []
    for row in rows:
        if row[x] is not None and row[y] is not None:
            bounds = (row[f"{y}_low"], row[f"{y}_high"])
            low, high = (np.nan if bound is None else 100 * bound for bound in bounds)
            is_baseline = row["manifest"] == row["baseline"]
            points.append(_Point(row, scale * row[x], 100 * row[y], low, high, is_baseline))
    return sorted(points, key=lambda point: point.x)


def _draw_series(axes: Axes, points: Sequence[_Point]) -> dict[tuple[int, int], Line2D]:
    """Draw a line through the points of each series, markers and intervals at pruned models."""
    handles = {}
    all_series = sorted({point.row["series_position"] for point in points})
    for place, series in enumerate(all_series):
        members = [point for point in points if point.row["series_position"] == series]
        pruned = [n for n, point in enumerate(members) if not point.is_baseline]
        if not pruned:
            continue
        row = members[0].row
        line, marker = _PRUNINGS[row["pruning"]]
        look = {"color": PALETTE[row["pruning"]], **_GROUPS[row["group_position"] % len(_GROUPS)]}
        aside = _aside(axes, place, len(all_series))
        _draw_intervals(axes, [members[n] for n in pruned], look["color"], aside)
        (handles[0, series],) = axes.plot(
            [point.x for point in members],
            [point.y for point in members],
            linestyle=line,
            marker=marker,
            markevery=pruned,
            transform=aside,
            label=row["series_title"],
            **look,
        )
    return handles


def _draw_baselines(
    axes: Axes, points: Sequence[_Point], *, is_alone: bool
) -> dict[tuple[int, int], Line2D]:
    """Draw a star for each unpruned model, with its interval; `is_alone`: the figure has one."""
    stars = {(p.row["recipe"], p.row["manifest"]): p for p in reversed(points) if p.is_baseline}
    found = sorted(stars.values(), key=lambda point: int(point.row["group_position"]))
    handles = {}
    for place, point in enumerate(found):
        group = point.row["group_position"]
        aside = _aside(axes, place, len(found))
        _draw_intervals(axes, [point], PALETTE["model"], aside)
        title = "unpruned" if is_alone else f"unpruned, {point.row['group_title']}"
        (handles[1, group],) = axes.plot(
            [point.x],
            [point.y],
            color=PALETTE["model"],
            marker="*",
            markersize=6,
            transform=aside,
            zorder=3,
            label=title,
            **{**_GROUPS[group % len(_GROUPS)], "linewidth": 0},
        )
    return handles


def _draw_intervals(
    axes: Axes,
    points: Sequence[_Point],
    colour: str,
    aside: Any,  # noqa: ANN401
) -> None:
    margins = [[point.y - point.low, point.high - point.y] for point in points]
    axes.errorbar(
        [point.x for point in points],
        [point.y for point in points],
        yerr=np.maximum(np.array(margins).T, 0),  # a bound may miss y by the last digit
        color=colour,
        linestyle="none",
        elinewidth=0.7,
        transform=aside,
    )


def _aside(axes: Axes, place: int, n: int) -> Any:  # noqa: ANN401
    """Return the transform that offsets data to one of n places beside each other."""
    inches = _APART * (place - (n - 1) / 2) / 72
    return axes.transData + ScaledTranslation(inches, 0, axes.figure.dpi_scale_trans)


def _limit_y(axes: Sequence[Axes], points: Sequence[_Point]) -> None:
    """Give the vertical axes equal limits that include 0 and all intervals.

    matplotlib ignores offset data.
    """
    heights = [0.0, *(y for point in points for y in (point.low, point.y, point.high))]
    low, high = np.nanmin(heights), np.nanmax(heights)
    margin = _MARGIN * (high - low)
    for each in axes:
        each.set_ylim(low - margin * (low < 0), high + margin * (high > 0) or 1)


def _limit_x(axes: Sequence[Axes], values: Sequence[float]) -> None:
    """Set the shared horizontal axis to reach from 0 to the last point."""
    last = max(values, default=0)
    axes[0].set_xlim(-_MARGIN * (last or 1), (1 + _MARGIN) * (last or 1))
    if values and not last:
        axes[0].set_xticks([0])  # the only number
    if last >= _THOUSAND:
        axes[0].xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(round(value))))


def _scale(rows: Sequence[Row], x: str) -> tuple[float, str]:
    """Return the factor from a column to the numbers of its axis, and the axis title."""
    if x == "share":
        return 100, _X[x]
    if max((row[x] or 0 for row in rows), default=0) >= _MILLION:
        return 1 / _MILLION, f"{_X[x]} (millions)"
    return 1, _X[x]
