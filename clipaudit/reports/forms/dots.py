"""Draw values as marks on lines, in groups: models on many tasks, or many models on one."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, new_figure, series_look, style
from clipaudit.reports.panels import (
    BELOW,
    by,
    hide_x_numbers,
    title_panel,
    write_legend,
    write_note,
)

_COLUMNS = 4  # panels beside each other at most
_LINE = 0.15  # inches, from a line to the next
_APART = 0.4  # lines, between groups
_HEAD = 0.4  # inches, for the titles of panels
_FEWEST = 6  # lines that a panel has room for at least
_SPREAD = 0.7  # share of a line's height that its marks fill
_CHARACTERS = 28  # of a line's title
_HIGHEST = 20  # lines up to which a mark is large


class _Lines(NamedTuple):
    """The positions of titles on the vertical axis, which goes down; its unit is a line."""

    groups: Mapping[float, str]
    rows: Mapping[int, tuple[float, str]]  # by row_position
    end: float


@style()
def draw_dots(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the marks of a table with one row per (panel, line, series).

    Lines are the values of `row_position`, below the titles of their groups; panels share them.
    A mark is at `value`, with a whisker from `low` to `high` if the table has them. The marks of a
    line are slightly offset, so that none hides another. A dashed line is at `reference` if the
    table has it. A model without lines has a null in `row_position`. A panel without marks says so.

    Options: `x_label`; `scale`, `percent` if values are shares, else they stay unchanged;
    `reference`, the name of the dashed line; `empty`, the note of a panel without values.
    """
    rows = table.to_pylist()
    lines = _lines(rows)
    panels = by(rows, "panel_position")
    figure, all_axes = _new_grid(len(panels), lines)
    handles: dict[float, Any] = {}
    for axes, panel in zip(all_axes, panels.values(), strict=True):
        handles |= _draw_panel(axes, panel, lines, options)
        title_panel(axes, panel[0]["panel_title"])
    _label_lines(all_axes, lines)
    for axes in all_axes[-_columns(len(panels)) :]:
        axes.set_xlabel(options["x_label"])
        axes.tick_params(labelbottom=True)
    if not handles:
        hide_x_numbers(all_axes)
    write_legend(figure, [handles[series] for series in sorted(handles)])
    return figure


def _lines(rows: Rows) -> _Lines:
    """Return the positions of all lines, and of the titles of groups above them."""
    listed = sorted(
        {
            (row["group_position"], row["row_position"], row["group_title"], row["row_title"])
            for row in rows
            if row["row_position"] is not None
        }
    )
    labels = _labels({row_title for *_, row_title in listed})
    groups: dict[float, str] = {}
    places: dict[int, tuple[float, str]] = {}
    y, last = 0.0, None
    for group, row, group_title, row_title in listed:
        if group != last:
            y += 0 if last is None else _APART
            groups[y] = group_title
            y, last = y + 1, group
        places[row] = (y, labels[row_title])
        y += 1
    return _Lines(groups, places, max(y, _FEWEST))


def _labels(titles: Iterable[str]) -> dict[str, str]:
    """Return the label of each title: cut at its end, or in its middle if that gives equal ones."""
    cut = {title: _cut(title, _CHARACTERS) for title in titles}
    times = Counter(cut.values())
    half = _CHARACTERS // 2
    return {
        title: label if times[label] == 1 else _cut(title, half + 1) + title[1 - half :].lstrip()
        for title, label in cut.items()
    }


def _cut(title: str, characters: int) -> str:
    return title if len(title) <= characters else f"{title[: characters - 1].rstrip()}…"


def _columns(panels: int) -> int:
    return min(panels, _COLUMNS)


def _new_grid(panels: int, lines: _Lines) -> tuple[Figure, list[Axes]]:
    """Return a figure and the axes of its panels, row by row."""
    columns = _columns(panels)
    rows = -(-panels // columns)
    figure, grid = new_figure(
        rows,
        columns,
        width="single" if panels == 1 else "double",
        height=rows * (lines.end * _LINE + _HEAD) + BELOW,
        share_x=True,
        share_y=True,
    )
    axes = grid.ravel().tolist()
    for unused in axes[panels:]:
        unused.set_visible(False)
    axes[0].xaxis.set_major_locator(MaxNLocator(4 if columns > 2 else 5, steps=(1, 2, 5, 10)))
    return figure, axes[:panels]


def _draw_panel(
    axes: Axes, panel: Rows, lines: _Lines, options: Mapping[str, str]
) -> dict[float, Any]:
    """Draw the marks of a panel and return each series' handle in the legend."""
    drawn = [r for r in panel if r["row_position"] is not None and r["value"] is not None]
    if not drawn:
        write_note(axes, options["empty"])
        return {}
    all_series = by(drawn, "series_position")
    handles = {}
    for n, (series, members) in enumerate(all_series.items()):
        shift = _SPREAD * ((n + 0.5) / len(all_series) - 0.5)
        handles[series] = _draw_series(axes, members, shift, lines, options)
    for place, _ in lines.rows.values():
        axes.axhline(place, color=PALETTE["faint"], linewidth=0.5, zorder=0)
    if panel[0].get("reference") is not None:
        handles[float("inf")] = axes.axvline(
            _factor(options) * panel[0]["reference"],
            color=PALETTE["text"],
            linestyle="--",
            linewidth=0.8,
            label=options["reference"],
        )
    return handles


def _draw_series(
    axes: Axes,
    members: Rows,
    shift: float,
    lines: _Lines,
    options: Mapping[str, str],
) -> Any:  # noqa: ANN401
    """Draw the marks of one series and their whiskers; return its legend handle."""
    factor = _factor(options)
    series = members[0]["series_position"]
    look = series_look(series)
    for row in members:
        if row.get("low") is not None and row.get("high") is not None:
            y = lines.rows[row["row_position"]][0] + shift
            low, high = (factor * row[name] for name in ("low", "high"))
            axes.hlines(y, low, high, color=look["color"], linewidth=0.8)
    (sign,) = axes.plot(
        [factor * row["value"] for row in members],
        [lines.rows[row["row_position"]][0] + shift for row in members],
        markersize=3.5 if len(lines.rows) <= _HIGHEST else 2.6,
        markeredgewidth=0.5,
        linestyle="none",
        label=members[0]["series_title"],
        **look,
    )
    return sign


def _factor(options: Mapping[str, str]) -> int:
    return 100 if options.get("scale") == "percent" else 1


def _label_lines(all_axes: Sequence[Axes], lines: _Lines) -> None:
    """Write the titles of lines and groups beside the first panel of each row."""
    titles = {**lines.groups, **dict(lines.rows.values())}
    places = sorted(titles)
    all_axes[0].set_ylim(lines.end - 0.4, -0.6)
    all_axes[0].set_yticks(places, [titles[place] for place in places])
    for n, axes in enumerate(all_axes):
        is_first = n % _columns(len(all_axes)) == 0
        axes.tick_params(axis="y", left=False, labelleft=is_first and bool(places))
        axes.spines["left"].set_visible(False)
        for place, label in zip(places, axes.get_yticklabels(), strict=False):
            if place in lines.groups:
                label.set_fontweight("bold")
