"""Draw groups of bars in rows of panels: gaps and accuracies of several models."""

import textwrap
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from clipaudit.plaindata import Row, Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, WIDTHS, bare_figure, style
from clipaudit.reports.layouts import short_count
from clipaudit.reports.panels import BELOW, by, title_panel, write_legend, write_note


class _Scale(NamedTuple):
    """The quantity on the vertical axis of a row of panels."""

    factor: float  # from the table's column to the numbers of the axis
    title: str
    height: float  # inches, of a panel


_SCALES = {
    "gap": _Scale(1, "gap", 1.7),
    "utility": _Scale(100, "accuracy (%)", 0.9),
    "selection": _Scale(100, "accuracy (%)", 1.35),
}
_HATCHES = ("", "/////", ".....", "")  # in addition to the colours, by series
_FILLED = 0.8  # share of a group's place that its bars fill
_BARS = 3  # a bar is at most as wide as in a group of this many bars
_GROUPS = 3  # and as in a panel of this many groups, times the columns that it fills
_CHARACTER = 0.066  # inches, of a text of 7 points
_ROWS_APART = 0.3  # inches, for a title and tick labels


@style()
def draw_bars(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the bars of a table with one row per (panel, group, series).

    A panel is at `panel_row` and `panel_column`; if it is alone in its row, it is as wide as the
    figure. Panels of a row share their vertical axis, whose meaning `scale` names. Bars are as high
    as `value`, with a whisker from `low` to `high` if both exist, and a line across at `chance` if
    the table has it. Series without a position and groups without any value are not drawn. Rows
    with `is_default` have an asterisk.

    Options: `group`, the label of a group: its `title`, its `size` (a number of training samples,
    else its title) or its `records` (with their share); `x_label`; `empty`, the note of a panel
    without groups; `across`, the name of the line across a bar, by default chance.
    """
    rows = table.to_pylist()
    drawn = [row for row in rows if row["value"] is not None and row["series_position"] is not None]
    figure, all_axes = _new_grid(rows)
    handles: dict[int, Any] = {}
    for place, axes in all_axes.items():
        panel = [row for row in drawn if (row["panel_row"], row["panel_column"]) == place]
        handles |= _draw_panel(axes, panel, options["group"], _columns(rows, place))
        if not panel:
            write_note(axes, options.get("empty", "no records"))
    for place, axes in all_axes.items():
        _label_panel(axes, rows, place, options)
    legend = [handles[series] for series in sorted(handles)]
    if any(row.get("chance") is not None for row in drawn):
        name = options.get("across", "chance")
        across = Line2D([], [], color=PALETTE["text"], linewidth=1, label=name)
        legend.append(across)
    write_legend(figure, legend)
    return figure


def _new_grid(
    rows: Rows,
) -> tuple[Figure, dict[tuple[int, int], Axes]]:
    """Return a figure and the axes of each panel, by row and column."""
    places = sorted({(row["panel_row"], row["panel_column"]) for row in rows})
    scales = {row["panel_row"]: _SCALES[row["scale"]] for row in rows}
    columns = 1 + max(column for _, column in places)
    heights = [scales[row].height for row in sorted(scales)]
    inches = sum(heights) + _ROWS_APART * (len(heights) - 1) + BELOW
    figure = bare_figure(WIDTHS["single" if columns == 1 else "double"], inches)
    figure.set_layout_engine("constrained")
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    firsts: dict[int, Axes] = {}
    axes = {}
    for row, column in places:
        alone = _columns(rows, (row, column)) == columns
        cell = grid[row, :] if alone else grid[row, column]
        axes[row, column] = figure.add_subplot(cell, sharey=firsts.get(row))
        firsts.setdefault(row, axes[row, column])
        axes[row, column].yaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
    return figure, axes


def _columns(rows: Rows, place: tuple[int, int]) -> int:
    """Return the number of columns that a panel fills."""
    own = {row["panel_column"] for row in rows if row["panel_row"] == place[0]}
    return 1 + max(int(row["panel_column"]) for row in rows) if len(own) == 1 else 1


def _draw_panel(axes: Axes, panel: Rows, group: str, columns: int) -> dict[int, Any]:
    """Draw the bars of a panel and return each series' handle in the legend."""
    groups, all_series = by(panel, "group_position"), by(panel, "series_position")
    places = {group: place for place, group in enumerate(groups)}
    width = _FILLED / max(_BARS, len(all_series))
    handles = {}
    for n, (series, members) in enumerate(all_series.items()):
        shift = width * (n - (len(all_series) - 1) / 2)
        x = np.array([places[row["group_position"]] + shift for row in members])
        handles[series] = _draw_series(axes, members, x, width)
    axes.axhline(0, color=PALETTE["quiet"], linewidth=0.6)
    half = max(len(groups), _GROUPS * columns) / 2
    middle = (len(groups) - 1) / 2
    axes.set_xlim(middle - half, middle + half)
    slot = (WIDTHS["double"] / 4 if columns == 1 else WIDTHS["double"]) / (2 * half)
    labels = [_group_label(members[0], group, slot) for members in groups.values()]
    axes.set_xticks(range(len(groups)), labels)
    axes.tick_params(bottom=False)
    return handles


def _draw_series(axes: Axes, members: Rows, x: np.ndarray, width: float) -> Any:  # noqa: ANN401
    """Draw the bars of one series at x, with whiskers and lines of chance; return its handle."""
    factor = _SCALES[members[0]["scale"]].factor
    series = members[0]["series_position"]
    look: dict[str, Any] = {
        "facecolor": SERIES_COLOURS[series % len(SERIES_COLOURS)],
        "edgecolor": "white",
        "hatch": _HATCHES[series % len(_HATCHES)],
        "linewidth": 0.3,
    }
    heights = np.array([factor * row["value"] for row in members])
    axes.bar(x, heights, width, **look)
    sure = [n for n, row in enumerate(members) if None not in (row["low"], row["high"])]
    low, high = (np.array([factor * members[n][bound] for n in sure]) for bound in ("low", "high"))
    axes.errorbar(
        x[sure],
        heights[sure],
        yerr=np.maximum([heights[sure] - low, high - heights[sure]], 0),
        color=PALETTE["text"],
        linestyle="none",
        elinewidth=0.7,
    )
    for place, row in zip(x, members, strict=True):
        if row.get("chance") is not None:
            ends = [place - width / 2, place + width / 2]
            axes.plot(ends, [factor * row["chance"]] * 2, color=PALETTE["text"], linewidth=1)
    return Patch(label=members[0]["series_title"], **look)


def _group_label(row: Row, group: str, slot: float) -> str:
    """Return the label below a group of bars, in lines that fit into a slot of inches."""
    star = "*" if row["is_default"] else ""
    if group == "records":
        percent = np.format_float_positional(
            100 * row["share"], precision=2, unique=False, fractional=False, trim="-"
        )
        return f"{short_count(row['records'])}\n{percent if row['share'] >= 1e-4 else '<0.01'}"
    if group == "size" and row["training_samples"] is not None:
        return short_count(row["training_samples"]) + star
    return textwrap.fill(
        row["group_title"] + star, max(6, int(slot / _CHARACTER)), break_long_words=False
    )


def _label_panel(
    axes: Axes,
    rows: Rows,
    place: tuple[int, int],
    options: Mapping[str, str],
) -> None:
    """Write the titles of a panel and its axes: beside the first of a row, below the last row."""
    panel = [row for row in rows if (row["panel_row"], row["panel_column"]) == place]
    title_panel(axes, panel[0]["panel_title"])
    if place[1] == 0:
        axes.set_ylabel(_SCALES[panel[0]["scale"]].title)
    else:
        axes.tick_params(labelleft=False)
    if "x_label" in options and place[0] == max(row["panel_row"] for row in rows):
        axes.set_xlabel(options["x_label"])
