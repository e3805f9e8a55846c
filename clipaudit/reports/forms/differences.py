"""Draw histograms of differences of scores about zero, marking those that rise."""

from collections.abc import Mapping

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, style
from clipaudit.reports.layouts import percent
from clipaudit.reports.panels import by, finish, new_panels, title_panel, write_note

_ABOVE, _BELOW = SERIES_COLOURS[0], SERIES_COLOURS[1]
_HEIGHT = 1.5  # inches, of a panel
_HEADROOM = 1.25  # times the highest bar, for the text above all bars


@style()
def draw_differences(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the histograms of a table of `parrot_fig4_differences.sql`, one panel per difference.

    Bins that the table lacks are empty; those below 0 differ in colour and hatching, and the panel
    gives the share of images in them. Panels share their horizontal axis. Options: `x_label` and
    `y_label`. A panel without images says so.
    """
    rows = table.to_pylist()
    panels = by(rows, "panel_position")
    figure, all_axes = new_panels(len(panels), height=_HEIGHT)
    for axes, panel in zip(all_axes, panels.values(), strict=True):
        title_panel(axes, panel[0]["panel_title"])
        highest = 100 * max(row["share"] or 0 for row in panel)
        axes.set_ylim(0, _HEADROOM * highest or 1)
        bins = [row for row in panel if row["bin_low"] is not None]
        if bins:
            _draw_panel(axes, bins)
        else:
            write_note(axes, "no images")
    finish(
        figure,
        all_axes,
        (options["x_label"], options["y_label"]),
        (),
        bare=not any(row["share"] for row in rows),
    )
    return figure


def _draw_panel(axes: Axes, bins: Rows) -> None:
    for row in bins:
        below = row["bin_low"] < 0
        axes.bar(
            row["bin_low"],
            100 * row["share"],
            row["bin_high"] - row["bin_low"],
            align="edge",
            color=_BELOW if below else _ABOVE,
            edgecolor="white",
            linewidth=0.2,
            hatch="/////" if below else "",
        )
    axes.axvline(0, color=PALETTE["text"], linewidth=0.6)
    axes.text(
        *(0.98, 0.96, f"below 0: {percent(bins[0]['share_below'], digits=1)} %"),
        transform=axes.transAxes,
        ha="right",
        va="top",
        fontsize=7,
    )
