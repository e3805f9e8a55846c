"""Draw the spread of values within intervals of another quantity, as a box per series."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, SERIES_MARKERS, new_figure, style
from clipaudit.reports.layouts import count, short_count
from clipaudit.reports.panels import by, write_note

_HEIGHT = 2.7  # inches, of the figure
_FILLED = 0.82  # share of an interval's place that its boxes fill
_BOXES = 4  # a box is at most as wide as in an interval of this many boxes
_BOX = 0.75  # share of a series's place that its box fills
_INTERVALS = 4  # intervals that the panel has room for at least
_COLUMNS = 3  # of the legend at most
_SHORTENED = 100_000  # numbers from here on are abbreviated


@style()
def draw_ranges(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the boxes of a table of `parrot_fig5.sql`: intervals from left to right.

    A line reaches from the 5 % to the 95 % quantile, a box from one quartile to the other; a mark
    shows the median. An encoder has a colour and a mark, a vocabulary a filling: the first is
    hollow, further ones are full. An interval without grams has no box. Options: `x_label`;
    `y_label`; `empty`, the note of a figure without boxes.
    """
    rows = table.to_pylist()
    figure, ((axes,),) = new_figure(1, 1, height=_HEIGHT)
    axes.use_sticky_edges = False  # the axis may extend beyond the foot of a box
    all_series = by(rows, "series_position")
    width = _FILLED / max(_BOXES, len(all_series))
    handles: dict[str, Any] = {}
    for n, own in enumerate(all_series.values()):
        members = [row for row in own if row["grams"]]
        if members:
            shift = width * (n - (len(all_series) - 1) / 2)
            handles |= _draw_series(axes, members, shift, width * _BOX)
    if not handles:
        write_note(axes, options["empty"])
    label_intervals(axes, rows, options)
    columns = min(max(2, len({row["encoder"] for row in rows})), _COLUMNS)
    if handles:
        figure.legend(
            *(list(handles.values()), list(handles)), loc="outside lower center", ncols=columns
        )
    return figure


def label_intervals(axes: Axes, rows: Rows, options: Mapping[str, str]) -> None:
    """Write both axes' titles, and each interval's bounds, `low` and `high`, below its place."""
    axes.set_xlabel(options["x_label"])
    axes.set_ylabel(options["y_label"])
    bounds = {row["interval_position"]: (row["low"], row["high"]) for row in rows}
    places = sorted(bounds)
    axes.set_xticks(places, [interval_label(*bounds[place]) for place in places])
    axes.tick_params(axis="x", length=0)
    middle, half = (len(places) - 1) / 2, max(len(places), _INTERVALS) / 2
    axes.set_xlim(middle - half, middle + half)


def interval_label(low: int, high: int | None) -> str:
    """Format an interval from low to high, both inclusive; None: it is open.

    >>> interval_label(1, 1), interval_label(10, 99), interval_label(28, None)
    ('1', '10\\u201399', '\\u2265 28')
    >>> interval_label(100_000, 999_999)
    '100k\\u20131M'
    """
    if high is None:
        return f"\N{GREATER-THAN OR EQUAL TO} {short_count(low)}"
    if high == low:
        return short_count(low)
    ends = [count(end) if high < _SHORTENED else short_count(end) for end in (low, high)]
    return "\N{EN DASH}".join(ends)


def _draw_series(axes: Axes, members: Rows, shift: float, width: float) -> dict[str, Any]:
    """Draw the boxes of one series and return its legend handle, by its name."""
    first = members[0]
    encoder = first["encoder_position"]
    colour = SERIES_COLOURS[encoder % len(SERIES_COLOURS)]
    fill = "white" if first["vocabulary_position"] == 0 else (colour, 0.45)
    x = [row["interval_position"] + shift for row in members]
    heights = [row["high_quartile"] - row["low_quartile"] for row in members]
    lows, medians = ([row[name] for row in members] for name in ("low_quartile", "median"))
    low_tails, high_tails = ([row[name] for row in members] for name in ("low_tail", "high_tail"))
    look: dict[str, Any] = {"facecolor": fill, "edgecolor": colour, "linewidth": 0.8}
    mark: dict[str, Any] = {
        "color": PALETTE["text"],
        "marker": SERIES_MARKERS[encoder % len(SERIES_MARKERS)],
        "markersize": 2.2,
        "linestyle": "none",
    }
    axes.vlines(x, low_tails, high_tails, color=colour, linewidth=0.8)
    axes.bar(x, heights, width, bottom=lows, **look)
    axes.plot(x, medians, **mark)
    title = f"{first['encoder_title']}, {first['vocabulary_title']}"
    return {title: (Patch(**look), Line2D([], [], **mark))}
