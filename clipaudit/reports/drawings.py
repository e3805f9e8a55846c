"""Draw figures from a table alone, by the name of the form, and return their files."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import cast

import pyarrow as pa
from matplotlib.figure import Figure

from clipaudit.reports.drawing import figure_bytes, new_figure, style
from clipaudit.reports.panels import write_note
from clipaudit.reports.rendering import markdown_text, to_csv


def draw_figure(form: str, table: pa.Table, options: Mapping[str, str]) -> Figure:
    """Return the drawing of a figure's table, from only its rows and `options`.

    A table without rows is drawn as a note that says so, `options["empty"]` if given.
    The form is imported by name, so that editing a form redraws only its own figures.
    """
    if not table.num_rows:
        with style():
            figure, axes = new_figure(1, 1, width="single", height=1)
            axes[0, 0].tick_params(bottom=False, labelbottom=False)
            write_note(axes[0, 0], options.get("empty", "no images"))
            return figure
    drawn = getattr(import_module(f"clipaudit.reports.forms.{form}"), f"draw_{form}")
    return cast(Figure, drawn(table, options))


def figure_files(
    table: pa.Table, figure: Figure, *, name: str, caption: str
) -> Iterator[tuple[str, bytes, str]]:
    """Yield the readable files of a figure: the output's name, content and extension."""
    svg, png = figure_bytes(figure)
    yield "csv", to_csv(table).encode(), ".csv"
    yield "svg", svg, ".svg"
    yield "png", png, ".png"
    yield "markdown", f"![{name}]({name}.png)\n\n{markdown_text(caption)}\n".encode(), ".md"
