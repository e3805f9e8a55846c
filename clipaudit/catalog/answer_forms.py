"""Rows of an answer as text: a table, Markdown, CSV, JSON.

Text from the data may be hostile: a terminal gets no control characters, a spreadsheet no formulas.
"""

import csv
import io
import json
import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal

from clipaudit.plaintext import cell, plain

SHOWN_ROWS = 60  # rows of a table on a terminal; a pipe or a file gets all
SHOWN_CELL = 60  # characters of a cell on a terminal

# escaped, so that text cannot end a Markdown cell or become HTML, a link or emphasis
_UNMARKED = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|"})

Rows = Sequence[Sequence[object]]


def as_table(columns: Sequence[str], rows: Rows, *, terminal: bool) -> Iterator[str]:
    """Yield aligned lines; on a terminal the first rows, value by value if they are too wide."""
    shown = [[_shown(value, terminal) for value in row] for row in rows]
    more = terminal and len(shown) > SHOWN_ROWS
    shown = shown[:SHOWN_ROWS] if terminal else shown
    heads = [plain(column) for column in columns]
    widths = [max(map(len, texts)) for texts in zip(heads, *shown, strict=True)]
    if terminal and sum(widths) + 2 * len(widths) > shutil.get_terminal_size().columns:
        yield from _blocks(heads, shown)
    else:
        numeric = [
            any(isinstance(row[place], int | float | Decimal) for row in rows)
            for place in range(len(columns))
        ]
        for line in (heads, ["-" * width for width in widths], *shown):
            yield _aligned(line, widths, numeric)
    if more:
        yield f"... more than {SHOWN_ROWS} rows; --format csv prints all\n"


def as_markdown(columns: Sequence[str], rows: Rows) -> Iterator[str]:
    """Yield a Markdown table with text escaped."""
    texts = ([_shown(value, False) for value in row] for row in rows)
    for line in (columns, ["---"] * len(columns), *texts):
        yield f"| {' | '.join(text.translate(_UNMARKED) for text in line)} |\n"


def as_csv(columns: Sequence[str], batches: Iterable[Rows]) -> Iterator[str]:
    """Yield CSV; null is empty, and text is written so that no spreadsheet evaluates it."""
    yield _csv_lines([[cell(column) for column in columns]])
    for rows in batches:
        yield _csv_lines([[_csv_value(value) for value in row] for row in rows])


def as_json(columns: Sequence[str], batches: Iterable[Rows]) -> Iterator[str]:
    """Yield a JSON array of objects; non-finite numbers become null, bytes hex."""
    before = "[\n"
    for rows in batches:
        for row in rows:
            yield f"{before}{_json_object(columns, row)}"
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def as_json_lines(columns: Sequence[str], batches: Iterable[Rows]) -> Iterator[str]:
    """Yield one JSON object per line, with values as in `as_json`."""
    for rows in batches:
        for row in rows:
            yield f"{_json_object(columns, row)}\n"


def _blocks(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield one line per value, for rows wider than the terminal."""
    width = max(map(len, heads))
    for number, row in enumerate(rows):
        if number:
            yield "\n"
        for head, text in zip(heads, row, strict=True):
            yield f"{head:<{width}}  {text}".rstrip() + "\n"


def _aligned(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    placed = (
        text.rjust(width) if right else text.ljust(width)
        for text, width, right in zip(cells, widths, numeric, strict=True)
    )
    return "  ".join(placed).rstrip() + "\n"


def _shown(value: object, terminal: bool) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = plain("" if value is None else _text(value))
    return f"{text[: SHOWN_CELL - 3]}..." if terminal and len(text) > SHOWN_CELL else text


def _text(value: object) -> str:
    """Return a value as text; lists and structs as JSON."""
    if isinstance(value, list | dict | tuple | bool):
        return json.dumps(_jsonable(value), ensure_ascii=False)
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv_lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _csv_value(value: object) -> object:
    if value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool)):
        return value
    return cell(_text(value))


def _json_object(columns: Sequence[str], row: Sequence[object]) -> str:
    return json.dumps({name: _jsonable(value) for name, value in zip(columns, row, strict=True)})


def _jsonable(value: object) -> object:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.hex()
        case list() | tuple():
            return [_jsonable(each) for each in value]
        case dict():
            return {str(key): _jsonable(each) for key, each in value.items()}
        case date() | datetime():
            return value.isoformat()
    return str(value)
