"""The drawings that are made from a table alone, by name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from clipaudit.reports.bars import draw_bars
from clipaudit.reports.correlations import draw_correlations
from clipaudit.reports.curves import draw_curves
from clipaudit.reports.histograms import draw_histograms
from clipaudit.reports.steps import draw_steps

if TYPE_CHECKING:
    import matplotlib.figure

_DRAWINGS = {
    "bars": draw_bars,
    "correlations": draw_correlations,
    "curves": draw_curves,
    "histograms": draw_histograms,
    "steps": draw_steps,
}


def draw_figure(
    name: str, table: pa.Table, options: Mapping[str, str]
) -> "matplotlib.figure.Figure":
    """Return the drawing of a figure's table: of its rows and `options`, and nothing else."""
    return _DRAWINGS[name](table, options)
