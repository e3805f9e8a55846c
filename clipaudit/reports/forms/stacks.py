"""Draw stacked bars: the shares of a few kinds in several selections of images."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, new_figure, style
from clipaudit.reports.layouts import short_count
from clipaudit.reports.panels import BELOW, by, title_groups, title_panel, write_legend, write_note

# Kinds of text in an image, from the darkest to the lightest, so that grey print shows them too.
_COLOURS = {"co": SERIES_COLOURS[1], "apart": SERIES_COLOURS[5], "none": PALETTE["faint"]}
_AXIS = "share (%)"
_ROW = 0.32  # inches, of a lying bar and the text beside it
_THICKNESS = {True: 0.72, False: 0.9}  # share of its place that a bar fills, lying or not
_COLUMN_HEIGHT = 1.7  # inches, of a panel of standing bars
_NUMBERED = 9.0  # percent: larger parts of a lying bar show their number
_EDGED = 120  # standing bars: with more, white edges would hide much of them
_TITLE = 0.25  # inches, of a panel's title


@style()
def draw_stacks(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the stacked bars of a table with one row per (panel, bar, kind).

    The table is one of `parrot_fig1.sql` or `parrot_fig3.sql`. A bar is 100 % long; the last kind
    is drawn first, at 0. Options: `bars`: `lying`, panels below each other, bars with their titles,
    sizes and numbers, or `standing`, one panel of bars side by side, with titles if there are few;
    `x_label`, of standing bars. A bar without images is absent; a panel without bars says so.
    """
    rows = table.to_pylist()
    panels = by(rows, "panel_position")
    lying = options["bars"] == "lying"
    bars = max(1, len({row["bar_position"] for row in rows}))
    height = bars * _ROW + _TITLE if lying else _COLUMN_HEIGHT
    figure, grid = new_figure(
        len(panels),
        1,
        width="single" if lying else "double",
        height=len(panels) * height + BELOW,
        share_x=lying,
    )
    handles: dict[int, Any] = {}
    for axes, panel in zip(grid.ravel().tolist(), panels.values(), strict=True):
        title_panel(axes, panel[0]["panel_title"])
        own = by(panel, "bar_position")
        handles |= _draw_bars(axes, panel, list(own), lying=lying)
        _label_bars(axes, [members[0] for members in own.values()], lying=lying)
        if all(row["share"] is None for row in panel):
            write_note(axes, "no images")
    if lying:
        grid[-1, 0].set_xlabel(_AXIS)
    else:
        grid[0, 0].set_ylabel(_AXIS)
        grid[0, 0].set_xlabel(options["x_label"])
    write_legend(figure, [handles[kind] for kind in sorted(handles, reverse=True)])
    return figure


def _draw_bars(axes: Axes, panel: Rows, bars: Sequence[int], *, lying: bool) -> dict[int, Any]:
    """Draw stacked bars, the first on top or on the left; return each kind's legend handle."""
    draw: Any = axes.barh if lying else axes.bar
    look: dict[str, Any] = {}
    if not lying:
        look = {"edgecolor": "white", "linewidth": 0.4 if len(bars) <= _EDGED else 0}
    handles = {}
    ends: dict[int, float] = {}
    for row in sorted(panel, key=lambda row: -row["kind_position"]):
        if row["share"] is None:
            continue
        bar, share = row["bar_position"], 100 * row["share"]
        at, start = bars.index(bar), ends.get(bar, 0.0)
        ends[bar] = start + share
        look |= {"color": _COLOURS[row["kind"]], "label": row["kind_title"]}
        handles[row["kind_position"]] = draw(at, share, _THICKNESS[lying], start, **look)
        if lying and share >= _NUMBERED:
            axes.text(start + share / 2, at, f"{share:.1f}", ha="center", va="center", fontsize=7)
    return handles


def _label_bars(axes: Axes, first: Rows, *, lying: bool) -> None:
    """Write the titles of bars from their first rows; lying bars also get their sizes."""
    if lying:
        labels = [f"{row['bar_title']}\n({short_count(row['all_pictures'])})" for row in first]
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.tick_params(left=False)
    else:
        title_groups(axes, [row["bar_title"] for row in first])
        axes.set_ylim(0, 100)
