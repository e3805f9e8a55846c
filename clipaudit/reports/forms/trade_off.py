"""Draw the recall of thresholds by their false positives, as a curve for each method."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, style
from clipaudit.reports.layouts import short_count
from clipaudit.reports.panels import label_axes, new_panels, title_panel, write_legend, write_note

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_HEIGHT = 1.9  # inches, of a panel
_CHOSEN: dict[str, Any] = {"color": SERIES_COLOURS[1], "marker": "o", "linestyle": "none"}
_ASKED: dict[str, Any] = {"color": PALETTE["quiet"], "linestyle": "--", "linewidth": 0.8}
# keeps the dashed line out of a threshold, which is near it in most runs
_CLEAR: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
_FLOOR = 0.1  # per million: position of thresholds without a false positive
_LOWEST = 12  # percent: marks up to here have no room below them
_TICKS = (_FLOOR, 1, 100, 10_000, 1_000_000)


@style()
def draw_trade_off(table: pa.Table, options: Mapping[str, str]) -> "matplotlib.figure.Figure":
    """Return the curves of a table with one row per (panel, threshold), strictest first.

    The horizontal axis shows `per_million`, logarithmic from _FLOOR up, where 0 is drawn too; the
    vertical axis shows `recall`. A mark with its threshold is at the `chosen` row, a dashed line at
    `asked_per_million`; the legend names both. A panel without thresholds says so.
    """
    rows = table.to_pylist()
    positions = sorted({row["panel_position"] for row in rows})
    figure, all_axes = new_panels(len(positions), height=_HEIGHT)
    for axes, position in zip(all_axes, positions, strict=True):
        _draw_panel(axes, [row for row in rows if row["panel_position"] == position])
    label_axes(all_axes, "false candidates per million pairs", "made copies found (%)")
    names = {"chosen threshold": _CHOSEN, "as many as the settings allow": _ASKED}
    write_legend(figure, [Line2D([], [], label=name, **look) for name, look in names.items()])
    return figure


def _draw_panel(axes: "matplotlib.axes.Axes", rows: Rows) -> None:
    title_panel(axes, rows[0]["panel_title"])
    axes.set_xscale("log")
    axes.set_xticks(_TICKS, [_tick(value) for value in _TICKS])
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(_FLOOR / 1.5, 1e6)
    axes.set_ylim(0, 100)
    known = [row for row in rows if row["per_million"] is not None and row["recall"] is not None]
    if not known:
        write_note(axes, "no pairs to compare")
        return
    axes.plot(
        [max(_FLOOR, row["per_million"]) for row in known],
        [100 * row["recall"] for row in known],
        color=SERIES_COLOURS[0],
    )
    axes.axvline(max(_FLOOR, rows[0]["asked_per_million"]), **_ASKED)
    for row in known:
        if row["chosen"]:
            _mark(axes, max(_FLOOR, row["per_million"]), 100 * row["recall"], row["threshold"])


def _tick(value: float) -> str:
    """Return a rate briefly; smaller ones, and 0, are drawn at the lowest.

    >>> [_tick(rate) for rate in (0.1, 10, 100_000)]
    ['≤ 0.1', '10', '100k']
    """
    return short_count(round(value)) if value >= 1 else f"≤ {value:g}"


def _mark(axes: "matplotlib.axes.Axes", x: float, y: float, threshold: float) -> None:
    """Draw the mark of a threshold, which is below it unless that would cover the axis."""
    axes.plot([x], [y], **_CHOSEN)
    axes.annotate(
        f"{threshold:.4g}",
        (x, y),
        xytext=(4, -9 if y > _LOWEST else 4),
        textcoords="offset points",
        color=SERIES_COLOURS[1],
        fontsize=7,
        bbox=_CLEAR,
    )
