"""Render report tables as CSV, Markdown and LaTeX text.

CSV is the stored table, long and unrounded. Markdown and LaTeX have the papers' form, as the
audits' layouts declare it.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

import pyarrow as pa

from clipaudit import plaintext
from clipaudit.config.audits import folder_of
from clipaudit.plaindata import Row
from clipaudit.reports.layouts import DASH, MISSING, NOT_TRAINED, Layout, Listing, is_untrained
from clipaudit.reports.leftout import untrained
from clipaudit.reports.titles import headed

_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "{}$&#_%"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "\N{MINUS SIGN}": "$-$",
        "\N{PLUS-MINUS SIGN}": r"$\pm$",
        "\N{MULTIPLICATION SIGN}": r"$\times$",
        "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
        "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
        "\N{DEGREE SIGN}": r"$^\circ$",
        "\N{MIDDLE DOT}": r"$\cdot$",
        "\N{GREEK SMALL LETTER RHO}": r"$\rho$",
        "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
        "\N{EN DASH}": "--",
        "\N{EM DASH}": "---",
        "\N{NARROW NO-BREAK SPACE}": r"\,",
        "\N{NO-BREAK SPACE}": "~",
        "\N{LEFT SINGLE QUOTATION MARK}": "`",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": "``",
        "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    }
)

BETWEEN_BACKTICKS = re.compile("`([^`]+)`")  # names of settings and views

# Characters that Markdown would interpret. Intervals and "< 0.5" stay readable as plain text: a
# link needs `](` too, and a tag has no space after `<`. Names are full of underscores inside words.
_MARKDOWN = re.compile(
    r"[\\|*`~&$]|<(?! )|\[(?![\d+\N{MINUS SIGN}])|\](?=[(\[:])|(?<![^\W_])_|_(?![^\W_])"
)


@dataclass(frozen=True)
class PrintedLine:
    """A line of a printed table; `is_first` marks a row's own line."""

    name: str
    cells: Sequence[str]
    is_first: bool


@cache
def layouts(table: str) -> Mapping[str, Layout | Listing]:
    """Return the layouts of the audit that a table's name begins with.

    >>> layouts("similarity_table1")["similarity_table1"].corner
    'Dataset'
    """
    module = f"{folder_of(table)}.reports.layouts"
    found: Mapping[str, Layout | Listing] = import_module(module).LAYOUTS
    return found


def to_csv(table: pa.Table) -> str:
    r"""Return `table` as CSV (RFC 4180, with a header): numbers unrounded, nulls empty.

    Text that a spreadsheet would run as a formula gets a leading apostrophe; numbers, including
    negative ones, stay numbers.

    >>> to_csv(pa.table({"dataset": ["=1+1", "a, b"], "change": [-0.5, None]})).split("\r\n")
    ['dataset,change', "'=1+1,-0.5", '"a, b",', '']
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow([_csv_cell(name) for name in table.column_names])
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        writer.writerow([_csv_cell(value) for value in row])
    return stream.getvalue()


def to_markdown(name: str, table: pa.Table, notes: Sequence[str] = ()) -> str:
    """Return the report table `name` as a Markdown table, aligned as text.

    Its title and caption come first, with `notes` as the caption's last sentences. The caption
    names untrained models without any other number, which have no row.
    """
    layout, rows = layouts(name)[name], table.to_pylist()
    heads, lines = _printed(rows, layout)
    grid = [[markdown_text(head) for head in heads]]
    for line in lines:
        text = markdown_text(line.name)
        cells = map(markdown_text, line.cells)
        grid.append([text if line.is_first else f"*{text}*", *cells])
    widths = [max(3, *map(len, column)) for column in zip(*grid, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    printed = [_markdown_row(row, widths) for row in (grid[0], rule, *grid[1:])]
    return "\n".join([markdown_text(_caption(name, rows, notes)), "", *printed, ""])


def to_latex(name: str, table: pa.Table, notes: Sequence[str] = ()) -> str:
    """Return the report table `name` as a LaTeX table, for the packages booktabs and graphicx.

    Its title comes before its caption, which ends with `notes`. Its rows are those of
    `to_markdown`.
    """
    layout, rows = layouts(name)[name], table.to_pylist()
    heads, lines = _printed(rows, layout)
    body: list[str] = []
    has_sublines = not all(line.is_first for line in lines)
    for line in lines:
        if line.is_first and body and has_sublines:
            body.append(r"\addlinespace")
        body.append(_latex_row(line))
    return "\n".join(
        [
            r"% needs \usepackage{booktabs,graphicx}",
            r"\begin{table}[t]",
            r"\centering",
            rf"\caption{{{_latex_caption(_caption(name, rows, notes))}}}",
            rf"\label{{tab:{name}}}",
            r"\footnotesize",
            r"\setlength{\tabcolsep}{4pt}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",  # only to shrink
            rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
            r"\toprule",
            " & ".join(_latex_head(head) for head in heads) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
            "",
        ]
    )


def markdown_text(text: str) -> str:
    r"""Return `text` escaped so that Markdown shows it unchanged, on one line.

    >>> print(markdown_text("a|b *c* <i> snake_case _d_"))
    a\|b \*c\* \<i> snake_case \_d\_
    >>> print(markdown_text("< 0.5 [0.2, 0.6] [a](b) [1](b)"))
    < 0.5 [0.2, 0.6] \[a\](b) [1\](b)
    """
    escaped = _MARKDOWN.sub(r"\\\g<0>", text)
    return re.sub(r"[\x00-\x20\x7f]+", " ", escaped)


def untrained_of(rows: Sequence[Row], layout: Layout | Listing) -> list[str]:
    """Return a sentence that names the models without a printed row; none if all have one."""
    said = untrained(
        layout.name(row).removesuffix(NOT_TRAINED)
        if isinstance(layout, Listing)
        else row[layout.untrained or layout.row]
        for row, lines in _groups(rows, layout)
        if _is_untrained(row, lines)
    )
    return [said] if said else []


def _caption(name: str, rows: Sequence[Row], notes: Sequence[str]) -> str:
    layout = layouts(name)[name]
    said = [layout.caption, *notes, *untrained_of(rows, layout)]
    return headed(name, layout.title, " ".join(said))


def _printed(rows: Sequence[Row], layout: Layout | Listing) -> tuple[list[str], list[PrintedLine]]:
    """Return the headings and lines of a report table, both in its order."""
    lines = [
        line for row, own in _groups(rows, layout) if not _is_untrained(row, own) for line in own
    ]
    if isinstance(layout, Listing):
        return [layout.corner, *layout.fields], lines
    lead = [layout.lead] if layout.lead else []
    return [layout.corner, *lead, *_heads(rows, layout).values()], lines


def _is_untrained(row: Row, lines: Sequence[PrintedLine]) -> bool:
    return is_untrained(row, [cell for line in lines for cell in line.cells])


def _groups(
    rows: Sequence[Row], layout: Layout | Listing
) -> Iterator[tuple[Row, list[PrintedLine]]]:
    """Yield the lines of each printed row, and the first table row that it prints."""
    if isinstance(layout, Listing):
        for row in rows:
            fields = [cell(row) for cell in layout.fields.values()]
            yield row, [PrintedLine(layout.name(row), fields, True)]
        return
    columns = _heads(rows, layout)
    groups: dict[int, dict[str, Row]] = {}
    for row in rows:
        groups.setdefault(row["position"], {})[row[layout.column]] = row
    for cells in groups.values():
        first = next(iter(cells.values()))
        yield first, list(_lines(layout, first, cells, columns))


def _heads(rows: Sequence[Row], layout: Layout) -> dict[str, str]:
    return {
        row[layout.column]: f"{row[f'{layout.column}_title']}{layout.head_note(row)}"
        for row in rows
    }


def _lines(
    layout: Layout, first: Row, cells: Mapping[str, Row], columns: Iterable[str]
) -> Iterator[PrintedLine]:
    for line in layout.lines:
        lead = [line.lead(first)] if layout.lead else []
        missing = "" if line.name else MISSING
        body = [line.body(cells[key]) if key in cells else missing for key in columns]
        if not line.name:
            indent = DASH if first.get("indent") else ""
            name = f"{indent}{first[layout.row]}{layout.row_note(first)}"
            yield PrintedLine(name, lead + body, True)
        elif any(lead + body):
            yield PrintedLine(line.name, lead + body, False)


def _csv_cell(value: object) -> object:
    """Return a value for the CSV writer: true and false as text, and no formula."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return plaintext.cell(value) if isinstance(value, str) else value


def _markdown_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *others = cells
    padded = [name.ljust(widths[0])]
    padded += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
    return f"| {' | '.join(padded)} |"


def _latex_text(text: str) -> str:
    """Return `text` escaped so that LaTeX prints it unchanged, on one line."""
    return re.sub(r"[\x00-\x20\x7f]+", " ", text).translate(_LATEX)


def _latex_caption(text: str) -> str:
    r"""Return `text` for LaTeX, with what stands between backticks as code.

    >>> print(_latex_caption("\u201cA\u201d, \u201cB\u201d and the view `repeat_groups`"))
    ``A'', ``B'' and the view \texttt{repeat\_groups}
    """
    parts = map(_latex_text, BETWEEN_BACKTICKS.split(text))
    return "".join(rf"\texttt{{{part}}}" if n % 2 else part for n, part in enumerate(parts))


def _latex_head(head: str) -> str:
    r"""Return a heading broken after hyphens and at spaces, for narrow columns.

    >>> print(_latex_head("ImageNet-Sketch"))
    \shortstack{ImageNet-\\Sketch}
    """
    parts = [_latex_text(part) for part in re.split(r"(?<=-)|\s+", head) if part]
    broken = r"\\".join(parts)
    return rf"\shortstack{{{broken}}}" if len(parts) > 1 else broken


def _latex_row(line: PrintedLine) -> str:
    r"""Return a row with cells in braces, since LaTeX reads a `[` after `\\` as its option."""
    size = "" if line.is_first else r"\scriptsize "
    indent = "" if line.is_first else r"\quad "
    cells = [f"{{{size}{_latex_text(cell)}}}" if cell else "" for cell in line.cells]
    return " & ".join([f"{{{size}{indent}{_latex_text(line.name)}}}", *cells]) + r" \\"
