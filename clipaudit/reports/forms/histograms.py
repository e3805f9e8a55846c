"""Draw histograms of two series over each other, with a panel for each test set."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float64
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, style
from clipaudit.reports.panels import by, finish, new_panels, title_panel, write_note

_COLOURS = {
    "large": PALETTE["large"],
    "small": PALETTE["small"],
    "pruned": PALETTE["pruned"],
    "encoder": SERIES_COLOURS[2],
    "other_encoder": SERIES_COLOURS[4],
}
_Y = {"share": (100, "share of images (%)"), "density": (1, "density")}  # factor, axis title
_HEIGHT = 1.45  # inches, of a panel


@style()
def draw_histograms(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the histograms of a table with one row per (test set, series, bin).

    The table is one of `similarity_histograms.sql` or `similarity_normalized.sql`; bins that it
    lacks are empty. Options: `x_label`; `y`, the drawn column, `share` or `density`; `edge`, the
    name of a line at 1. The first series is a filled shape, the second a hatched one within dashes,
    so that they differ even without colour.
    """
    rows = table.to_pylist()
    factor, y_label = _Y[options["y"]]
    panels = by(rows, "position")
    figure, all_axes = new_panels(len(panels), height=_HEIGHT)
    handles: dict[int, Any] = {}
    for axes, panel in zip(all_axes, panels.values(), strict=True):
        title_panel(axes, panel[0]["testset_title"])
        for series, bins in by(panel, "series_position").items():
            look = _look(series, bins[0]["series"])
            handles.setdefault(series, Patch(label=bins[0]["series_title"], **look))
            if bins[0]["bin_low"] is not None:
                values, edges = _stairs(bins, options["y"])
                axes.stairs(factor * values, edges, **look)
        if all(row["bin_low"] is None for row in panel):
            write_note(axes, "no images")
        if "edge" in options:
            line = axes.axvline(1, color=PALETTE["quiet"], linestyle=":", label=options["edge"])
            handles.setdefault(len(rows), line)
    is_empty = all(row["bin_low"] is None for row in rows)
    titles = (options["x_label"], y_label)
    finish(figure, all_axes, titles, list(handles.values()), bare=is_empty)
    return figure


def _look(series: int, name: str) -> dict[str, Any]:
    """Return the fill and outline of a series."""
    colour = _COLOURS[name]
    if series == 0:
        return {"fill": True, "facecolor": (colour, 0.4), "edgecolor": colour, "linewidth": 0.8}
    return {
        "fill": True,
        "facecolor": "none",
        "edgecolor": colour,
        "linewidth": 0.9,
        "linestyle": "--",
        "hatch": "////",
    }


def _stairs(bins: Rows, y: str) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " edges"]]:
    """Return the heights of all bins from the first to the last, and their edges."""
    width = bins[0]["bin_high"] - bins[0]["bin_low"]
    places = [round(row["bin_low"] / width) for row in bins]
    first, last = min(places), max(places)
    values = np.zeros(last - first + 1)
    values[np.array(places) - first] = [row[y] for row in bins]
    return values, np.arange(first, last + 2) * width
