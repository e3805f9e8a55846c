"""The drawings that are made from a table alone, by name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from clipaudit.reports.bars import draw_bars
from clipaudit.reports.correlations import draw_correlations
from clipaudit.reports.curves import draw_curves
from clipaudit.reports.differences import draw_differences
from clipaudit.reports.dots import draw_dots
from clipaudit.reports.histograms import draw_histograms
from clipaudit.reports.profiles import draw_profiles
from clipaudit.reports.ranges import draw_ranges
from clipaudit.reports.stacks import draw_stacks
from clipaudit.reports.steps import draw_steps
from clipaudit.reports.tallies import draw_tallies
from clipaudit.reports.wordlists import draw_words

if TYPE_CHECKING:
    import matplotlib.figure

_DRAWINGS = {
    "bars": draw_bars,
    "correlations": draw_correlations,
    "curves": draw_curves,
    "differences": draw_differences,
    "dots": draw_dots,
    "histograms": draw_histograms,
    "profiles": draw_profiles,
    "ranges": draw_ranges,
    "stacks": draw_stacks,
    "steps": draw_steps,
    "tallies": draw_tallies,
    "words": draw_words,
}


def draw_figure(
    name: str, table: pa.Table, options: Mapping[str, str]
) -> "matplotlib.figure.Figure":
    """Return the drawing of a figure's table: of its rows and `options`, and nothing else."""
    return _DRAWINGS[name](table, options)
