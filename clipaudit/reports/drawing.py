"""The style of every figure: colours, sizes in print, fonts, and reproducible bytes.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), which people with any
colour vision can distinguish. One meaning has one colour in all figures. Widths are those of a
column and a page in print, and all text is large enough to be legible there. matplotlib's global
state stays unchanged.
"""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.text import Text

Width = Literal["single", "double"]

WIDTHS: Mapping[Width, float] = {"single": 3.3, "double": 6.9}  # inches: a column, a page
SMALLEST_POINTS = 7.0  # of any text in print
PRINT_DPI = 300  # of the PNG
SVG_PICTURE_DPI = 150  # of images within the SVG; everything else is vector graphics

_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _VERMILLION, _PURPLE, _GREY = "#0072B2", "#D55E00", "#CC79A7", "#6E6E6E"

# A colour is never the only sign: series of one colour differ by line style, as in the paper.
PALETTE: Mapping[str, str] = {
    "large": _VERMILLION,  # the paper: red
    "small": _BLUE,  # the paper: blue
    "deduplicated": _ORANGE,
    "pruned": _PURPLE,
    "near": _VERMILLION,
    "far": _SKY,
    "rand": _BLUE,
    "core": _GREEN,
    "gap": _GREEN,
    "model": _BLACK,
    "text": _BLACK,
    "quiet": _GREY,  # axes, notes, reference lines
    "faint": "#DDDDDD",  # grids, frames
}

# For series without a fixed meaning, such as the six test sets: the n-th colour goes with the n-th
# marker. Yellow is excluded, since it is hardly visible on white.
SERIES_COLOURS = (_BLUE, _VERMILLION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK, _GREY)
SERIES_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_STYLE: Mapping[Any, object] = {
    "font.family": ["DejaVu Sans"],  # ships with matplotlib: no figure depends on a machine's fonts
    "text.parse_math": False,  # titles, names and captions may hold prices
    "font.size": 8,
    "figure.titlesize": 9,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": PALETTE["quiet"],
    "axes.titlelocation": "left",
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": PALETTE["faint"],
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.color": PALETTE["quiet"],
    "ytick.color": PALETTE["quiet"],
    "xtick.labelcolor": PALETTE["text"],
    "ytick.labelcolor": PALETTE["text"],
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "errorbar.capsize": 1.5,
    "patch.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "image.composite_image": False,  # keep images separate, so that the SVG can be edited
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.bbox": None,  # not "tight", to keep the requested size in print
    "svg.fonttype": "path",  # the same on machines that lack the font
    "svg.hashsalt": "clipaudit",  # otherwise ids within the SVG would be random
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of the report, ignoring the user's matplotlibrc.

    Decorate every drawing function with `@style()`: matplotlib reads much of a style when it
    creates a line or a text.
    """
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        matplotlib.rcParams["axes.prop_cycle"] = cycler(color=SERIES_COLOURS)
        yield


def new_figure(
    rows: int,
    columns: int,
    *,
    width: Width = "double",
    height: float | None = None,
    share_x: bool | Literal["row", "col"] = False,
    share_y: bool | Literal["row", "col"] = False,
) -> tuple[Figure, np.ndarray]:
    """Return a figure and its axes, always an array of rows x columns, spaced to fit their labels.

    `height` is in inches; by default a panel is four fifths as high as it is wide. Call it within
    `style()`.
    """
    inches = WIDTHS[width]
    figure = bare_figure(inches, height or 0.8 * inches / columns * rows)
    figure.set_layout_engine("constrained")
    axes = figure.subplots(rows, columns, sharex=share_x, sharey=share_y, squeeze=False)
    return figure, axes


def series_look(place: int) -> dict[str, Any]:
    """Return the colour and marker of the n-th series, from 0; in odd rounds, it is hollow."""
    colour = SERIES_COLOURS[place % len(SERIES_COLOURS)]
    return {
        "color": colour,
        "marker": SERIES_MARKERS[place % len(SERIES_MARKERS)],
        "markerfacecolor": "white" if place // len(SERIES_COLOURS) % 2 else colour,
    }


def bare_figure(width: float, height: float) -> Figure:
    """Return a figure without axes, of a size in inches. Call it within `style()`."""
    assert matplotlib.rcParams["svg.hashsalt"] == _STYLE["svg.hashsalt"], "drawn outside style()"
    return Figure(figsize=(width, height), dpi=100)


def figure_bytes(figure: Figure) -> tuple[bytes, bytes]:
    """Return the figure as SVG and as PNG; equal figures give equal bytes, in any process.

    No date or version is written. Asserts that no text is below SMALLEST_POINTS.
    """
    for points, text in text_sizes(figure):
        assert points >= SMALLEST_POINTS, f"{text!r} is set in {points:g} points"
    figure.set_layout_engine("none")  # it is laid out now; each format would do it again
    with style():
        svg, png = io.BytesIO(), io.BytesIO()
        unsigned = {"Date": None, "Creator": None}
        figure.savefig(svg, format="svg", dpi=SVG_PICTURE_DPI, metadata=unsigned)
        figure.savefig(png, format="png", dpi=PRINT_DPI, metadata={"Software": None})
    return svg.getvalue(), png.getvalue()


def text_sizes(figure: Figure) -> list[tuple[float, str]]:
    """Return the size in points of every visible text of the figure, with the text."""
    with style():
        figure.draw_without_rendering()  # drawing creates the tick labels
        texts = figure.findobj(Text)
    return [
        (float(text.get_fontsize()), text.get_text())
        for text in texts
        if isinstance(text, Text) and text.get_visible() and text.get_text()
    ]
