"""Draw one quantity against another: points with intervals on both axes, a panel per set."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from clipaudit.plaindata import Row, Rows
from clipaudit.reports.drawing import (
    PALETTE,
    SERIES_COLOURS,
    SERIES_MARKERS,
    SMALLEST_POINTS,
    style,
)
from clipaudit.reports.panels import by, finish, new_panels, title_panel, write_note

_HEIGHT = 2.4  # inches, of a panel
_NAMED = 12  # points of a panel: with more, names would not clearly belong to points
_HALF_MARK = 3  # pixels, of a mark to each side
_DEFAULT: dict[str, Any] = {
    "marker": "o",
    "color": PALETTE["text"],
    "markerfacecolor": "white",
    "markersize": 6,
    "zorder": 3,  # in front of all others
}
# candidate places of a name: offset from its point in points of print, and alignment
_PLACES = (
    *((5, 5, "left", "bottom"), (5, -5, "left", "top")),
    *((-5, 5, "right", "bottom"), (-5, -5, "right", "top")),
    *((5, 14, "left", "bottom"), (5, -14, "left", "top")),
    *((-5, 14, "right", "bottom"), (-5, -14, "right", "top")),
)


@style()
def draw_scatter(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the points of a table with one row per (panel, point).

    A point is at `x` in percent and at `y`, with whiskers from `x_low` to `x_high` and from `y_low`
    to `y_high` if both ends are known; axes include the whiskers. `series_position` gives the
    colour and mark; the point with `is_default` is hollow. `point_title` is written beside its
    point where it covers no mark, line or other name. It is left out if there is no such place, and
    in a panel of more than 12 points. A dashed line marks y = 0 if the axis includes it. Points
    without both values are not drawn; a panel without any says so.

    Options: `x_label`, `y_label`, and `empty`, the note of a panel without points.
    """
    rows = table.to_pylist()
    panels = by(rows, "panel_position")
    figure, all_axes = new_panels(len(panels), height=_HEIGHT)
    drawn = {
        axes: [row for row in panel if row["x"] is not None and row["y"] is not None]
        for axes, panel in zip(all_axes, panels.values(), strict=True)
    }
    for (axes, points), panel in zip(drawn.items(), panels.values(), strict=True):
        title_panel(axes, panel[0]["panel_title"])
        _draw_panel(axes, points, options)
    every = [row for points in drawn.values() for row in points]
    titles = (options["x_label"], options["y_label"])
    finish(figure, all_axes, titles, _handles(every), bare=not every)
    figure.draw_without_rendering()  # place everything else before the names
    for axes, points in drawn.items():
        if len(points) <= _NAMED:
            _write_names(axes, points)
    return figure


def _draw_panel(axes: Axes, points: Rows, options: Mapping[str, str]) -> None:
    for row in points:
        x, y = 100 * row["x"], row["y"]
        axes.errorbar(
            *(x, y),
            xerr=100 * _reach(row, "x"),
            yerr=_reach(row, "y"),
            elinewidth=0.6,
            **_look(row),
        )
    if not points:
        write_note(axes, options["empty"])
        return
    low, high = axes.get_ylim()
    if low < 0 < high:
        axes.axhline(0, color=PALETTE["quiet"], linestyle="--", linewidth=0.8)


def _look(row: Row) -> dict[str, Any]:
    if row["is_default"]:
        return {**_DEFAULT, "linestyle": "none"}
    series = row["series_position"]
    return {
        "marker": SERIES_MARKERS[series % len(SERIES_MARKERS)],
        "color": SERIES_COLOURS[series % len(SERIES_COLOURS)],
        "linestyle": "none",
    }


def _reach(row: Row, axis: str) -> Float64[np.ndarray, "2 1"]:
    """Return the lengths of a point's whiskers, down and up."""
    low, high = _ends(row, axis)
    return np.maximum([[row[axis] - low], [high - row[axis]]], 0.0)


def _handles(rows: Rows) -> list[Line2D]:
    """Return a legend handle for each drawn series."""
    return [
        Line2D([], [], label=members[0]["series_title"], **_look(members[0]))
        for members in by(rows, "series_position").values()
    ]


# --- names ---------------------------------------------------------------------------------------


def _write_names(axes: Axes, points: Rows) -> None:
    """Write the names of points where they cover nothing, in the order of the points."""
    taken = [box for row in points for box in _covered(axes, row)]
    taken += [line.get_window_extent() for line in axes.lines if line.get_linestyle() == "--"]
    for row in points:
        if row["is_default"]:
            continue  # the legend names it
        name = _written(axes, row, taken)
        if name is not None:
            taken.append(name)


def _written(axes: Axes, row: Row, taken: Sequence[Bbox]) -> Bbox | None:
    """Write a point's name in the first free place, and return what it covers.

    None: no place is free, and nothing is written.
    """
    name = axes.annotate(
        row["point_title"],
        (100 * row["x"], row["y"]),
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=SMALLEST_POINTS,
        color=_look(row)["color"],
    )
    name.set_in_layout(False)
    for place in _PLACES:
        box = _moved(name, place)
        inside = axes.bbox.containsx(box.x0) and axes.bbox.containsx(box.x1)
        inside = inside and axes.bbox.containsy(box.y0) and axes.bbox.containsy(box.y1)
        if inside and not box.count_overlaps(taken):
            return box
    name.remove()
    return None


def _moved(name: Annotation, place: tuple[int, int, str, str]) -> Bbox:
    """Move a name to a place beside its point, and return what it then covers."""
    right, up, across, along = place
    name.set_position((right, up))
    name.set(horizontalalignment=across, verticalalignment=along)
    return name.get_window_extent()


def _covered(axes: Axes, row: Row) -> list[Bbox]:
    """Return what a point covers: its mark and whiskers across, its mark and whiskers along."""
    (left, right), (bottom, top) = _ends(row, "x"), _ends(row, "y")
    x, y = 100 * row["x"], row["y"]
    corners = ([[100 * left, y], [100 * right, y]], [[x, bottom], [x, top]])
    return [Bbox(axes.transData.transform(each)).padded(_HALF_MARK) for each in corners]


def _ends(row: Row, axis: str) -> tuple[float, float]:
    """Return the ends of a point's whiskers, or twice the point where one is not known."""
    low, high = row[f"{axis}_low"], row[f"{axis}_high"]
    return (row[axis], row[axis]) if None in (low, high) else (low, high)
