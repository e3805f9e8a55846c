"""Draw profiles: mean scores of several kinds of images, by groups of images or by models."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, new_figure, style
from clipaudit.reports.panels import BELOW, by, title_groups, write_legend, write_note

_BLUE, _VERMILLION, _GREEN = SERIES_COLOURS[:3]
_HOLLOW = {"markerfacecolor": "white", "markeredgewidth": 0.8}
# Removed text has the colour and mark of its random removal, but full.
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "none": {"color": PALETTE["quiet"], "marker": "D"},
    "raw": {"color": _BLUE, "marker": "o"},
    "all": {"color": _VERMILLION, "marker": "v"},
    "co": {"color": _GREEN, "marker": "s"},
    "random_all": {"color": _VERMILLION, "marker": "v", **_HOLLOW},
    "random_co": {"color": _GREEN, "marker": "s", **_HOLLOW},
}
_AXIS = "mean score"
_HEIGHT = 2.4  # inches, of a panel of groups side by side
_ROW = 0.3  # inches, of a group below others
_SPREAD = 0.7  # share of a group's place that its marks fill


@style()
def draw_profiles(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the marks, at `value`, of a table with one row per (group, series).

    The table is one of `parrot_fig4.sql` or `parrot_fig7.sql`. Option `groups`: `beside`, along the
    horizontal axis, with titles if there are few groups; or `below`, a row for each group with its
    title. `x_label`, for groups beside each other. Marks of a group are slightly offset, so that
    none hides another, with whiskers from `low` to `high` if the table has them. A group without a
    value in a series has no mark for it.
    """
    rows = table.to_pylist()
    groups = {row["group_position"]: row["group_title"] for row in rows}
    beside = options["groups"] == "beside"
    figure, grid = new_figure(
        1, 1, height=BELOW + (_HEIGHT if beside else max(2, len(groups)) * _ROW), width="double"
    )
    (axes,) = grid.ravel().tolist()
    handles = _draw_series(axes, rows, sorted(groups), beside=beside)
    titles = [groups[group] for group in sorted(groups)]
    if beside:
        _write_beside(axes, titles, options["x_label"])
    else:
        _write_below(axes, titles)
    if not handles:
        write_note(axes, "no images")
    write_legend(figure, [handles[series] for series in sorted(handles)])
    return figure


def _draw_series(axes: Axes, rows: Rows, groups: Sequence[int], *, beside: bool) -> dict[int, Any]:
    """Draw the marks of every series and return their legend handles."""
    handles = {}
    places = {group: place for place, group in enumerate(groups)}
    all_series = by([row for row in rows if row["value"] is not None], "series_position")
    for n, (series, members) in enumerate(all_series.items()):
        shift = _SPREAD * ((n + 0.5) / len(all_series) - 0.5)
        along = [places[row["group_position"]] + shift for row in members]
        values = [row["value"] for row in members]
        look = {"linestyle": "none", "markersize": 4, **_LOOKS[members[0]["series"]]}
        x, y = (along, values) if beside else (values, along)
        title = members[0]["series_title"]
        (handles[series],) = axes.plot(x, y, label=title, **look)
        draw = axes.vlines if beside else axes.hlines
        for place, row in zip(along, members, strict=True):
            if row.get("low") is not None:
                draw(place, row["low"], row["high"], color=look["color"], linewidth=0.7, zorder=1)
    return handles


def _write_beside(axes: Axes, titles: Sequence[str], x_label: str) -> None:
    title_groups(axes, titles)
    axes.set_xlabel(x_label)
    axes.set_ylabel(_AXIS)
    axes.grid(axis="y")
    for place in range(1, len(titles)):
        axes.axvline(place - 0.5, color=PALETTE["faint"], linewidth=0.5, zorder=0)


def _write_below(axes: Axes, titles: Sequence[str]) -> None:
    axes.set_yticks(range(len(titles)), titles)
    axes.set_ylim(max(1, len(titles)) - 0.5, -0.5)
    axes.set_xlabel(_AXIS)
    axes.tick_params(left=False)
    axes.grid(axis="x")
    for place in range(1, len(titles)):
        axes.axhline(place - 0.5, color=PALETTE["faint"], linewidth=0.5, zorder=0)
