"""The drawings that are made from a table alone, by the names of their forms."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

import pyarrow as pa

if TYPE_CHECKING:
    import matplotlib.figure


def draw_figure(
    form: str, table: pa.Table, options: Mapping[str, str]
) -> "matplotlib.figure.Figure":
    """Return the drawing of a figure's table: of its rows and `options`, and nothing else.

    The form is imported by its name, so that a figure is drawn again where its own form is edited,
    not where another one is.
    """
    drawn = getattr(import_module(f"clipaudit.reports.forms.{form}"), f"draw_{form}")
    return cast("matplotlib.figure.Figure", drawn(table, options))
