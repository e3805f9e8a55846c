"""Panels of a figure: their arrangement, axis titles, legend, and the note of an empty one."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from clipaudit.plaindata import Rows
from clipaudit.reports.drawing import PALETTE, WIDTHS, new_figure
from clipaudit.reports.flowing import printable

COLUMNS = 3  # panels beside each other at most; four are two by two
BELOW = 0.6  # inches, for axis titles and a legend of two lines
X_CHARACTERS = 33  # of an axis title in one line, below one of three panels
Y_CHARACTERS = 24  # of an axis title beside a panel
TITLED = 30  # groups side by side: with more, their titles would overlap
_TITLES = 6.3  # inches, of a page's width, for titles side by side
_CHARACTER = 0.058  # inches, of a text of 7 points
_TITLE_CHARACTER = 0.075  # inches, of a text of 8 points
_LEGEND_LINE = 0.15  # inches
_STEPS = (1, 2, 5, 10)  # between the numbers of an axis, times a power of ten


def by(rows: Rows, column: str) -> dict[Any, Rows]:
    """Return the rows of each value of a column, in the order of the values."""
    values = sorted({row[column] for row in rows})
    return {value: [row for row in rows if row[column] == value] for value in values}


def new_panels(n: int, *, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with n panels, row by row; one is as wide as a column of text, more a page.

    `height` is that of a panel, in inches; axis titles and legend add to it. Panels share their
    horizontal axis, with numbers below the lowest panel of each column. Call it within `style()`.
    """
    assert n > 0, "a figure has a panel"
    columns = 2 if n == 4 else min(n, COLUMNS)
    rows = math.ceil(n / columns)
    figure, grid = new_figure(
        rows,
        columns,
        width="single" if n == 1 else "double",
        height=rows * height + BELOW,
        share_x=True,
    )
    axes = grid.ravel().tolist()
    for each in axes:
        each.xaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
        each.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    for unused in axes[n:]:
        unused.set_visible(False)
    for lowest in axes[max(0, n - columns) : n]:
        lowest.tick_params(labelbottom=True)
    return figure, axes[:n]


def title_panel(axes: Axes, title: str) -> None:
    """Write the title of a panel, in lines that fit its share of the figure's width."""
    place: Any = axes.get_subplotspec()
    share = len(place.colspan) / place.get_gridspec().ncols
    width = share * axes.figure.get_figwidth()  # type: ignore[union-attr]
    axes.set_title(textwrap.fill(title, int(width / _TITLE_CHARACTER)))


def label_axes(axes: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Write the titles of the axes: below the lowest panel of each column, beside each row."""
    columns = axes[0].get_subplotspec().get_gridspec().ncols  # type: ignore[union-attr]
    characters = X_CHARACTERS * COLUMNS // max(2, columns)
    for lowest in axes[max(0, len(axes) - columns) :]:
        lowest.set_xlabel(textwrap.fill(x_label, characters))
    for first in axes[::columns]:
        first.set_ylabel(textwrap.fill(y_label, Y_CHARACTERS))


def write_note(axes: Axes, text: str) -> None:
    """Write what an empty panel lacks, and hide the meaningless numbers of its vertical axis."""
    axes.tick_params(left=False, labelleft=False)
    where: dict[str, Any] = {"x": 0.5, "y": 0.5, "ha": "center", "va": "center"}
    axes.text(s=text, transform=axes.transAxes, color=PALETTE["quiet"], **where)


def write_above(axes: Axes, text: str, **look: object) -> None:
    """Write a text in the upper right corner of a panel."""
    where: dict[str, Any] = {"ha": "right", "va": "top", **look}
    axes.text(0.97, 0.95, text, transform=axes.transAxes, **where)


def title_groups(axes: Axes, titles: Sequence[str]) -> None:
    """Write titles below groups side by side, unless so many that they would overlap.

    Titles take one line per word if these fit between the neighbours, else they are vertical, and
    the figure grows by the longest.
    Letters that the font lacks become replacement characters.
    """
    shown = [printable(title) for title in titles] if len(titles) <= TITLED else []
    characters = int(_TITLES / _CHARACTER / max(1, len(shown)))
    words = [title.split() for title in shown]
    fit = all(len(word) <= characters for title in words for word in title)
    texts = ["\n".join(title) for title in words] if fit else shown
    axes.set_xticks(range(len(texts)), texts, rotation=0 if fit else 90)
    if not fit:
        figure: Any = axes.figure
        figure.set_figheight(figure.get_figheight() + _CHARACTER * max(map(len, texts)))
    axes.set_xlim(-0.6, max(1, len(titles)) - 0.4)
    axes.tick_params(bottom=False)


def hide_x_numbers(axes: Sequence[Axes]) -> None:
    """Hide the numbers of the panels' shared horizontal axis, which is empty."""
    for each in axes:
        each.tick_params(bottom=False, labelbottom=False)


def finish(
    figure: Figure,
    axes: Sequence[Axes],
    titles: tuple[str, str],
    handles: Sequence[Any],
    *,
    bare: bool,
) -> None:
    """Write the titles of both axes, and the legend; `bare`: the horizontal axis is empty."""
    if bare:
        hide_x_numbers(axes)
    label_axes(axes, *titles)
    write_legend(figure, handles)


def write_legend(figure: Figure, handles: Sequence[Any]) -> None:
    """Write a legend of labelled handles below all panels; none without handles.

    It has up to two columns below a single panel, up to four below several, or as many as fit. The
    figure grows by the lines beyond two.
    """
    most = 2 if figure.get_figwidth() == WIDTHS["single"] else 4
    for columns in range(min(len(handles), most), 0, -1):
        legend = figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)
        if legend.get_window_extent().width <= figure.bbox.width or columns == 1:
            lines = math.ceil(len(handles) / columns)
            figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * max(0, lines - 2))
            return
        legend.remove()
