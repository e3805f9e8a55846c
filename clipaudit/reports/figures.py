"""What a figure of the report is: a table, and a drawing of exactly that table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from clipaudit.reports.specification import ReportTable


@dataclass(frozen=True)
class ReportFigure:
    """A figure: its table, and the form that it is drawn in, a module of `reports/forms/`.

    `options` go to the drawing; the caption says what is seen, for who prints the figure.
    """

    table: ReportTable
    form: str
    caption: str
    options: Mapping[str, str] = field(default_factory=dict)
