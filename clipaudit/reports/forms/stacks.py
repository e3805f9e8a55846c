"""Stacked bars: the shares of a few kinds in several selections of pictures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clipaudit.plaindata import Row, Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, new_figure, style
from clipaudit.reports.layouts import short_count
from clipaudit.reports.panels import BELOW, write_legend, write_note

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure


# What is read in a picture, from the darkest to the lightest, so that grey print shows it, too.
_COLOURS = {"co": SERIES_COLOURS[1], "apart": SERIES_COLOURS[5], "none": PALETTE["faint"]}
_AXIS = "share (%)"
_ROW = 0.32  # inches, of a lying bar and what is written beside it
_LYING = 0.72  # of that, by the bar
_COLUMN_HEIGHT = 1.7  # inches, of a panel of standing bars
_NUMBERED = 9.0  # percent: a part of a lying bar has its number from here on
_EDGED = 120  # standing bars: with more, white edges would hide much of them
_TITLED = 30  # standing bars: with more, their titles would run into each other
_TITLE = 0.25  # inches, of a panel's title


@style()
def draw_stacks(table: pa.Table, options: Mapping[str, str]) -> "matplotlib.figure.Figure":
    """Return the stacked bars of a table with one row per (panel, bar, kind).

    The table is one of `parrot_fig1.sql` or `parrot_fig3.sql`. A bar is 100 % long; the kind that
    comes last stands first, at 0. Options: `bars`, `lying`, panels below each other, bars with
    their titles, sizes and numbers, or `standing`, one panel of bars side by side, which have
    titles where there are few; `x_label`, of standing bars. Where there are no pictures, a bar is
    absent, a panel without bars says so.
    """
    rows = table.to_pylist()
    panels = sorted({row["panel_position"] for row in rows}) or [0]
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
    for axes, panel in zip(grid.ravel().tolist(), panels, strict=True):
        own = [row for row in rows if row["panel_position"] == panel]
        axes.set_title(own[0]["panel_title"] if own else "")
        handles |= _draw_lying(axes, own) if lying else _draw_standing(axes, own)
        if all(row["share"] is None for row in own):
            write_note(axes, "no pictures")
    if lying:
        grid[-1, 0].set_xlabel(_AXIS)
    else:
        grid[0, 0].set_ylabel(_AXIS)
        grid[0, 0].set_xlabel(options["x_label"])
    write_legend(figure, [handles[kind] for kind in sorted(handles, reverse=True)])
    return figure


def _draw_lying(axes: "matplotlib.axes.Axes", panel: Rows) -> dict[int, Any]:
    """Draw bars from left to right, the first above, and return what stands for each kind."""
    bars = sorted({row["bar_position"] for row in panel})
    handles = {}
    for row, start in _stacked(panel):
        share = 100 * row["share"]
        at = bars.index(row["bar_position"])
        handles[row["kind_position"]] = axes.barh(at, share, _LYING, start, **_look(row))
        if share >= _NUMBERED:
            axes.text(start + share / 2, at, f"{share:.1f}", ha="center", va="center", fontsize=7)
    first = {row["bar_position"]: row for row in reversed(panel)}
    labels = [
        f"{first[bar]['bar_title']}\n({short_count(first[bar]['all_pictures'])})" for bar in bars
    ]
    axes.set_yticks(range(len(bars)), labels)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.tick_params(left=False)
    return handles


def _draw_standing(axes: "matplotlib.axes.Axes", panel: Rows) -> dict[int, Any]:
    """Draw bars from the ground up, side by side, and return what stands for each kind."""
    bars = sorted({row["bar_position"] for row in panel})
    edge = 0.4 if len(bars) <= _EDGED else 0
    handles = {}
    for row, start in _stacked(panel):
        look = _look(row) | {"edgecolor": "white", "linewidth": edge}
        at = bars.index(row["bar_position"])
        handles[row["kind_position"]] = axes.bar(at, 100 * row["share"], 0.9, start, **look)
    titles = {row["bar_position"]: row["bar_title"] for row in panel}
    shown = bars if len(bars) <= _TITLED else []
    axes.set_xticks(range(len(shown)), [titles[bar] for bar in shown])
    axes.set_xlim(-0.6, max(1, len(bars)) - 0.4)
    axes.set_ylim(0, 100)
    axes.tick_params(bottom=False)
    return handles


def _stacked(panel: Rows) -> list[tuple[Row, float]]:
    """Return the rows that have a share, each with where its part of the bar starts, in percent."""
    ends: dict[int, float] = {}
    found = []
    for row in sorted(panel, key=lambda row: -row["kind_position"]):
        if row["share"] is not None:
            start = ends.get(row["bar_position"], 0.0)
            found.append((row, start))
            ends[row["bar_position"]] = start + 100 * row["share"]
    return found


def _look(row: Row) -> dict[str, Any]:
    return {"color": _COLOURS[row["kind"]], "label": row["kind_title"]}
