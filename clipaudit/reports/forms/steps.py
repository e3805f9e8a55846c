"""Draw the share of records that reach a recall, as stairs for target and reference model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float64
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from clipaudit.plaindata import Row, Rows
from clipaudit.reports.drawing import SERIES_COLOURS, style
from clipaudit.reports.layouts import number, short_count
from clipaudit.reports.panels import by, finish, new_panels, title_panel, write_above, write_note

_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "target": {"color": SERIES_COLOURS[1], "linestyle": "-"},
    "reference": {"color": SERIES_COLOURS[0], "linestyle": "--"},
}
_HEIGHT = 1.9  # inches, of a panel


@style()
def draw_steps(table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the stairs of a table of `memorization_fig3.sql`, a panel for each size.

    A stair falls from 100 % at recall 0; just above each recall it drops by the records with
    exactly that recall. The area is shaded where the target's stair is above the reference's. The
    panel gives the excess of this area over the one where it is below (`aucg`) and, if known, the
    same net of the hold-out (`aucg_net`). A panel without records says so.
    """
    rows = table.to_pylist()
    panels = by(rows, "panel_position")
    figure, all_axes = new_panels(len(panels), height=_HEIGHT)
    handles: dict[str, Any] = {}
    for axes, panel in zip(all_axes, panels.values(), strict=True):
        title_panel(axes, _title(panel[0]))
        handles |= _draw_panel(axes, panel)
    legend = [handles[model] for model in _LOOKS if model in handles]
    titles = (options["x_label"], options["y_label"])
    finish(figure, all_axes, titles, legend, bare=not handles)
    return figure


def _title(row: Row) -> str:
    size = row["training_samples"]
    title = f"{row['panel_title'] if size is None else short_count(size)} training samples"
    return title + ("*" if row["is_default"] else "")


def _draw_panel(axes: Axes, panel: Rows) -> dict[str, Any]:
    """Draw both models' stairs and return their legend handles."""
    stairs = {
        model: _stair([row for row in panel if row["model"] == model])
        for model in _LOOKS
        if any(row["model"] == model for row in panel)
    }
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(0, 102)
    if not stairs:
        write_note(axes, "no records")
        return {}
    handles = {}
    for model, (recall, share) in stairs.items():
        label = f"{model} model"
        (handles[model],) = axes.step(recall, share, where="pre", label=label, **_LOOKS[model])
    if len(stairs) == len(_LOOKS):
        _shade(axes, *stairs.values())
    write_above(axes, _area(panel[0]))
    return handles


def _area(row: Row) -> str:
    area = f"AUCG = {number(row['aucg'], digits=3)}"
    if row["aucg_net"] is None:
        return area
    return f"{area}\nnet = {number(row['aucg_net'], digits=3)}"


def _stair(
    rows: Rows,
) -> tuple[Float64[np.ndarray, " n"], Float64[np.ndarray, " n"]]:
    """Return the ends of the steps, by recall, and the height up to each, in percent."""
    recall = np.array([0, *(row["recall"] for row in rows), 1], dtype=np.float64)
    share = np.array([1, *(row["at_least"] for row in rows), 0], dtype=np.float64)
    return recall, 100 * share


def _shade(
    axes: Axes,
    target: tuple[np.ndarray, np.ndarray],
    reference: tuple[np.ndarray, np.ndarray],
) -> None:
    """Fill where the target's stair is above the reference's."""
    ends = np.union1d(target[0], reference[0])
    heights = [share[np.searchsorted(recall, ends)] for recall, share in (target, reference)]
    axes.fill_between(
        ends,
        np.maximum(*heights),
        heights[1],
        step="pre",
        color=SERIES_COLOURS[1],
        alpha=0.2,
        linewidth=0,
    )
