"""Profiles: mean scores of several kinds of pictures over groups of them, or over models."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import blended_transform_factory

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, new_figure, style
from clipaudit.reports.panels import BELOW, by, title_groups, write_legend, write_note

_BLUE, _VERMILLION, _GREEN = SERIES_COLOURS[:3]
_HOLLOW = {"markerfacecolor": "white", "markeredgewidth": 0.8, "linestyle": ":"}
# Text that is removed has the colour and the mark of random removal of as much, but full.
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "none": {"color": PALETTE["quiet"], "marker": "D", "linestyle": "--"},
    "raw": {"color": _BLUE, "marker": "o"},
    "all": {"color": _VERMILLION, "marker": "v"},
    "co": {"color": _GREEN, "marker": "s"},
    "random_all": {"color": _VERMILLION, "marker": "v", **_HOLLOW},
    "random_co": {"color": _GREEN, "marker": "s", **_HOLLOW},
}
_AXIS = "mean score"
_HEIGHT = 2.4  # inches, of a panel of groups side by side
_ROW = 0.16  # inches, of a group below others


@style()
def draw_profiles(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the marks of a table with one row per (group, series), of which `value` is drawn.

    The table is one of `parrot_fig4.sql` or `parrot_fig7.sql`. Option `groups`: `beside`, along the
    horizontal axis, marks of a series joined by a line where neighbours have one, groups with
    titles where there are few; or `below`, a row for each group with its title. `x_label`, of
    groups beside each other; `note`, what stands below the last row. A group without a value in a
    series has no mark of it.
    """
    rows = table.to_pylist()
    groups = {row["group_position"]: row["group_title"] for row in rows}
    beside = options["groups"] == "beside"
    lines = len(groups) + ("note" in options)
    figure, grid = new_figure(
        1, 1, height=BELOW + (_HEIGHT if beside else max(3, lines) * _ROW), width="double"
    )
    (axes,) = grid.ravel().tolist()
    handles = _draw_series(axes, rows, sorted(groups), beside=beside)
    titles = [groups[group] for group in sorted(groups)]
    if beside:
        _write_beside(axes, titles, options["x_label"])
    else:
        _write_below(axes, titles, options.get("note"))
    if not handles:
        write_note(axes, "no pictures")
    write_legend(figure, [handles[series] for series in sorted(handles)])
    return figure


def _draw_series(axes: Axes, rows: Rows, groups: Sequence[int], *, beside: bool) -> dict[int, Any]:
    """Draw the marks of every series and return what stands for each in the legend."""
    handles = {}
    for series, members in by(rows, "series_position").items():
        if all(row["value"] is None for row in members):
            continue
        values = {row["group_position"]: row["value"] for row in members}
        # a line breaks at NaN: no mean is made up between two groups
        along = [float("nan") if values.get(g) is None else values[g] for g in groups]
        places = [float(place) for place in range(len(groups))]
        look = {"linewidth": 0.7, "markersize": 3.2, **_LOOKS[members[0]["series"]]}
        if not beside:
            look |= {"linestyle": "none", "markersize": 4}
        x, y = (places, along) if beside else (along, places)
        (handles[series],) = axes.plot(x, y, label=members[0]["series_title"], **look)
    return handles


def _write_beside(axes: Axes, titles: Sequence[str], x_label: str) -> None:
    title_groups(axes, titles)
    axes.set_xlabel(x_label)
    axes.set_ylabel(_AXIS)
    axes.grid(axis="y")


def _write_below(axes: Axes, titles: Sequence[str], note: str | None) -> None:
    """Name each row; the note stands in one of its own, where there are no marks."""
    axes.set_yticks(range(len(titles)), titles)
    axes.set_ylim(len(titles) - 0.5 + (note is not None), -0.5)
    axes.set_xlabel(_AXIS)
    axes.tick_params(left=False)
    axes.grid()
    if note is not None:
        where = blended_transform_factory(axes.transAxes, axes.transData)
        axes.text(
            *(0.01, len(titles), note),
            transform=where,
            color=PALETTE["quiet"],
            fontsize=7,
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},  # over the grid
        )
