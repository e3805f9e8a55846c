"""Draw counts per interval on a logarithmic scale: the long tail of a vocabulary."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from clipaudit.reports.drawing import SERIES_COLOURS, new_figure, style
from clipaudit.reports.forms.ranges import label_intervals
from clipaudit.reports.layouts import short_count
from clipaudit.reports.panels import by, write_legend, write_note

_HEIGHT = 2.4  # inches, of the figure
_FILLED = 0.8  # share of an interval's place that its bars fill
_LEAST = 0.5  # the axis begins here, so that a bar of 1 is visible
_HATCHES = ("", "/////", ".....", "xxxxx")  # in addition to the colours, by series


@style()
def draw_tallies(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the bars of a table of `parrot_fig5a.sql`: intervals from left to right.

    A bar is as high as `grams`, on a logarithmic axis; an interval without any has no bar.
    Options: `x_label`; `y_label`; `empty`, the note of a figure without bars.
    """
    rows = table.to_pylist()
    figure, ((axes,),) = new_figure(1, 1, height=_HEIGHT)
    all_series = by(rows, "series_position")
    width = _FILLED / len(all_series)
    handles = []
    for n, (series, own) in enumerate(all_series.items()):
        members = [row for row in own if row["grams"]]
        shift = width * (n - (len(all_series) - 1) / 2)
        x = [row["interval_position"] + shift for row in members]
        look: dict[str, Any] = {
            "facecolor": SERIES_COLOURS[series % len(SERIES_COLOURS)],
            "edgecolor": "white",
            "hatch": _HATCHES[series % len(_HATCHES)],
            "linewidth": 0.3,
        }
        if members:
            title = members[0]["series_title"]
            handles.append(axes.bar(x, [r["grams"] for r in members], width, label=title, **look))
    if handles:
        axes.set_yscale("log")
        axes.set_ylim(bottom=_LEAST)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short_count(round(value))))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        write_note(axes, options["empty"])
    label_intervals(axes, rows, options)
    write_legend(figure, handles)
    return figure
