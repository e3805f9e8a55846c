"""The layout of a printed table: its rows, its columns, and the format of numbers.

A report table is long, with one row per cell of the printed table. A `Layout` says which of its
columns name the printed rows and columns, and what each printed line of a row shows. If one row of
the report table is one printed row, a `Listing` names its fields.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from clipaudit.plaindata import Row

Cell = Callable[[Row], str]


@dataclass(frozen=True)
class Place:
    """A cell that names a sample by its shard and row, which these columns hold.

    >>> Place("test_shard", "test_row")({"test_shard": 7, "test_row": 12})
    '7:12'
    """

    shard: str
    row: str

    def __call__(self, row: Row) -> str:
        """Return the name of the sample of a row."""
        return f"{row[self.shard]}:{row[self.row]}"


MINUS = "\N{MINUS SIGN}"
THIN = "\N{NARROW NO-BREAK SPACE}"
MISSING = "\N{EN DASH}"
MOST_DIGITS = 12  # as bounds are rounded
NOT_TRAINED = ", not trained"  # after the name of an untrained model that has other numbers
DASH = "\N{EN DASH} "  # before an indented row, as in the papers


@dataclass(frozen=True)
class Line:
    """One printed line of a row. A named line is left out if it is empty."""

    name: str  # "": the line with the row's own name
    body: Cell  # under each heading, from the row of that cell
    lead: Cell = lambda row: ""  # in the lead column, from the first of the row's cells
    lead_sort: str = ""  # column that sorts the lead column, if it prints another one


@dataclass(frozen=True)
class Layout:
    """Printed rows are runs of equal `position`; printed columns are the values of `column`."""

    caption: str
    corner: str  # the heading over the rows' names
    row: str  # column that names a printed row
    column: str  # column whose values are the printed columns; `<column>_title` heads them
    lines: tuple[Line, ...]
    lead: str = ""  # heading of the column between names and cells; "" for none
    row_note: Cell = lambda row: ""  # after a row's name, from the first of its cells
    head_note: Cell = lambda row: ""  # after a column's title, from any of its cells
    title: str = ""  # what the table shows, without a full stop
    untrained: str = ""  # column that names an untrained model, if not `row`


@dataclass(frozen=True)
class Listing:
    """Printed rows are the rows of the table; printed columns are `fields`, by their headings."""

    caption: str
    corner: str  # the heading over the rows' names
    name: Cell
    fields: Mapping[str, Cell]
    title: str = ""  # as in a layout


def is_untrained(row: Row, cells: Iterable[str]) -> bool:
    """Return whether a row is of an untrained model and has no other number."""
    return row.get("in_grid") is False and not any(set(cells) - {"", MISSING})


def cell(form: Callable[..., str], *columns: str, missing: str = "", **options: object) -> Cell:
    """Return a function that prints columns of a row in a form, or `missing` if that is empty."""
    return lambda row: form(*(row[column] for column in columns), **options) or missing


def count(value: int | None) -> str:
    """Format a count in groups of three digits; "" for None.

    >>> count(8342783), count(-5), count(None)
    ('8\\u202f342\\u202f783', '\\u22125', '')
    """
    return "" if value is None else f"{value:,}".replace(",", THIN).replace("-", MINUS)


def counted(number: int, thing: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "image"), counted(8342, "image")
    ('1 image', '8\\u202f342 images')
    """
    return f"{count(number)} {thing}{'' if number == 1 else 's'}"


def short_count(value: int) -> str:
    """Format a count briefly: from 9 995 on, three digits of thousands or millions.

    >>> short_count(600), short_count(9999), short_count(10_000_000), short_count(1_234_567)
    ('600', '10k', '10M', '1.23M')
    """
    rounded = float(f"{value:.3g}")
    for unit, sign in ((1_000_000, "M"), (1_000, "k")):
        if rounded >= max(unit, 10_000):
            return f"{rounded / unit:g}{sign}"
    return count(value)


def percent(value: float | None, *, digits: int = 2, sign: bool = False) -> str:
    """Format a fraction in percent; "" for None.

    >>> percent(0.5021), percent(-0.1081, digits=1, sign=True), percent(-0.0, sign=True)
    ('50.21', '\\u221210.8', '0.00')
    """
    return "" if value is None else number(100 * value, digits=digits, sign=sign)


def number(value: float | None, *, digits: int = 2, sign: bool = False) -> str:
    """Format a number; "" for None. A number that rounds to zero has no sign.

    >>> number(0.934), number(-0.934), number(0.0123, digits=3, sign=True), number(-0.001)
    ('0.93', '\\u22120.93', '+0.012', '0.00')
    """
    if value is None:
        return ""
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    is_zero = not text.strip("+-0.")
    return text.lstrip("+-") if is_zero else text.replace("-", MINUS)


def interval(
    low: float | None,
    high: float | None,
    *,
    form: Callable[..., str] = percent,
    digits: int = 1,
    sign: bool = False,
) -> str:
    """Format bounds, by default of fractions in percent; "" if there are none.

    >>> interval(0.4166, 0.479), interval(0.4166, 0.479, form=number, digits=2)
    ('[41.7, 47.9]', '[0.42, 0.48]')
    """
    if low is None or high is None:
        return ""
    bounds = [form(bound, digits=digits, sign=sign) for bound in (low, high)]
    return f"[{', '.join(bounds)}]"


def measured(
    row: Row,
    column: str,
    *,
    bounds: str = "",
    digits: int = 1,
    sign: bool = False,
    unit: str = "",
) -> str:
    """Format a fraction in percent, with the interval of `<bounds>_low` to `<bounds>_high`.

    The bounds are those of `column` by default. A fraction within 0.1 % of 0 or 100 % has two
    significant digits of that distance, and its bounds as many decimals: "0.024 % [0.012, 0.042]".
    With `sign`, a difference has the digits that show on which side of 0 its bounds are.
    Returns "" for None; without bounds only the fraction.
    """
    value = row[column]
    low, high = (row[f"{bounds or column}_{end}"] for end in ("low", "high"))
    if sign:
        digits = digits_beside(0, low, high, digits=digits, unit=100)
    elif value is not None:
        digits = max(digits, fine_digits(value))
    found = interval(low, high, digits=digits, sign=sign)
    text = percent(value, digits=digits, sign=sign)
    return f"{text}{unit} {found}".strip() if text else ""


def digits_beside(border: float, *bounds: float | None, digits: int, unit: float = 1) -> int:
    """Return the fewest decimals, from `digits` on, that show on which side each bound is.

    So "more than chance" does not stand beside "[0.00, 0.01]". Numbers are printed times `unit`.

    >>> digits_beside(0, 0.0043, 0.0058, digits=2), digits_beside(0.5, 0.5, 0.62, digits=3)
    (3, 3)
    """
    near = [bound * unit for bound in bounds if bound is not None and bound != border]
    while digits < MOST_DIGITS and any(
        round(bound, digits) == round(border * unit, digits) for bound in near
    ):
        digits += 1
    return digits


def fine_digits(value: float) -> int:
    """Return the decimals of a percentage that would otherwise be rounded to 0 or 100; else 0.

    >>> [fine_digits(value) for value in (0.0, 0.012, 0.00024, 0.9998, 1.0)]
    [0, 0, 3, 3, 0]
    """
    away = min(abs(value), abs(1 - value))  # from 0 or 1
    return 0 if away == 0 or away >= 0.001 else 1 - math.floor(math.log10(100 * away))
