"""The drawings that are made from a table alone, by the names of their forms, and their files."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast

import pyarrow as pa
from matplotlib.figure import Figure

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.rendering import to_csv


def draw_figure(form: str, table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the drawing of a figure's table: of its rows and `options`, and nothing else.

    The form is imported by its name, so that a figure is drawn again where its own form is edited,
    not where another one is.
    """
    drawn = getattr(import_module(f"clipaudit.reports.forms.{form}"), f"draw_{form}")
    return cast(Figure, drawn(table, options))


def figure_files(
    table: pa.Table, figure: Figure, *, name: str, caption: str
) -> Iterator[tuple[str, bytes, str]]:
    """Yield the forms of a figure that people read: the output's name, content and extension."""
    svg, png = figure_bytes(figure)
    yield "csv", to_csv(table).encode(), ".csv"
    yield "svg", svg, ".svg"
    yield "png", png, ".png"
    yield "markdown", f"![{name}]({name}.png)\n\n{caption}\n".encode(), ".md"
