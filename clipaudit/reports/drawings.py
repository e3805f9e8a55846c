"""The drawings that are made from a table alone, by name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from clipaudit.reports.correlations import draw_correlations
from clipaudit.reports.curves import draw_curves
from clipaudit.reports.histograms import draw_histograms

if TYPE_CHECKING:
    import matplotlib.figure

_DRAWINGS = {
    "correlations": draw_correlations,
    "curves": draw_curves,
    "histograms": draw_histograms,
}


def draw_figure(
    name: str, table: pa.Table, options: Mapping[str, str]
) -> "matplotlib.figure.Figure":
    """Return the drawing of a figure's table: of its rows and `options`, and nothing else."""
    return _DRAWINGS[name](table, options)
