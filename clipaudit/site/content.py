"""Gather the report's contents as plain data from pointers, lineage records and the catalog."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from clipaudit.catalog.columns import column_comments, meaning
from clipaudit.config.audits import audits
from clipaudit.plaindata import Json, Row
from clipaudit.plaintext import plain
from clipaudit.reports.leftout import LeftOut, left_out_of, notes_of
from clipaudit.reports.rendering import layouts, untrained_of
from clipaudit.reports.specification import Gallery, ReportFigure
from clipaudit.reports.tables import published_values
from clipaudit.reports.titles import headed, paper_number, title_of
from clipaudit.site.cells import Grid, plain_grid, printed_grid
from clipaudit.store.placements import placement
from clipaudit.store.records import read_record
from clipaudit.store.store import Pointer, Store

Declared = ReportFigure | Gallery | None

EXACT_INTEGERS = 2**53  # beyond, JavaScript's numbers skip some
_PX_PER_PT = 4 / 3
_DRAWN_AT = re.compile(r"(\w+_)?position|panel_(row|column)")  # columns that only place marks
_POINTS = re.compile(r'<svg[^>]*? width="([\d.]+)pt" height="([\d.]+)pt"')


@dataclass(frozen=True)
class TableContent:
    """A report table, or the table of a figure, both as printed and as stored."""

    name: str
    audit: str
    title: str  # what it shows
    caption: str
    pointer: str  # relative to the results folder
    grid: Grid
    columns: tuple[str, ...]
    comments: Mapping[str, str]
    rows: tuple[Row, ...]
    texts: Mapping[str, str]  # "csv", and "latex" where it has that form
    published: tuple[Row, ...]  # the paper's numbers, PUBLISHED_SCHEMA
    left_out: LeftOut  # what it was made without

    @property
    def label(self) -> str:
        """Return its audit and, if any, its number in the paper: `Similarity, Table 1`."""
        return ", ".join(filter(None, [self.audit.capitalize(), paper_number(self.name)]))

    def data(self) -> dict[str, Any]:
        """Return the data for the page's script: the stored rows in full precision."""
        return {
            "title": self.title,
            "pointer": self.pointer,
            "columns": self.columns,
            "comments": self.comments,
            "rows": [list(row.values()) for row in self.rows],
            **self.texts,
        }


@dataclass(frozen=True)
class FigureContent:
    """A figure: its table, and its size in CSS pixels."""

    table: TableContent
    is_gallery: bool
    width: int
    height: int
    says: tuple[str, ...] = ()  # columns whose values a gallery states for each sample


def read_table(results: Path, store: Store, pointer: Path, graph: Json) -> TableContent:
    """Return a report table by its pointer; raises StoreError if its object is damaged.

    `graph`, from clipaudit.lineage.graph, has its action.
    """
    content = _content(results, store, pointer, graph)
    layout = layouts(content.name).get(content.name)
    notes = [
        *_drawing(results, store, pointer).get("notes", ()),
        *notes_of(content.left_out),
        *(untrained_of(content.rows, layout) if layout else ()),
    ]
    return replace(
        content,
        title=title_of(content.name, layout.title if layout else ""),
        caption=" ".join([layout.caption if layout else "", *map(plain, notes)]),
        grid=printed_grid(content.rows, layout) if layout else content.grid,
        texts={**content.texts, "latex": _text(store, pointer, "tex")},
        published=tuple(published_values(content.name).to_pylist()),
    )


def read_figure(
    results: Path, store: Store, pointer: Path, graph: Json, declared: Declared = None
) -> FigureContent:
    """Return a figure by its pointer, as `read_table`; `declared` is its declaration."""
    content = _content(results, store, pointer, graph)
    drawn = str(_drawing(results, store, pointer).get("caption", ""))
    title = declared.title if declared else ""
    own = drawn.removeprefix(headed(content.name, title, ""))  # the title stands above it
    said = [own, *notes_of(content.left_out)]
    caption = plain(" ".join(said))
    step = graph["actions"][graph["tables"][content.pointer]]["step"]
    size = svg_size(_text(store, pointer, "svg"))
    told = [column for column in content.columns if not _DRAWN_AT.fullmatch(column)]
    content = replace(
        content,
        title=title_of(content.name, plain(title)),
        caption=caption,
        grid=plain_grid(told, content.rows),
    )
    says = declared.says if isinstance(declared, Gallery) else ()
    return FigureContent(content, step != "report_figure", *size, says)


def _content(results: Path, store: Store, pointer: Path, graph: Json) -> TableContent:
    """Return a table as it is stored."""
    name, place = pointer.stem, pointer.relative_to(results).as_posix()
    table = pq.ParquetFile(store.checked_path(Pointer.read(pointer))).read()
    columns = tuple(table.column_names)
    rows = tuple(
        {column: json_value(value) for column, value in row.items()} for row in table.to_pylist()
    )
    return TableContent(
        name=name,
        audit=audit_of(name),
        title=title_of(name, ""),
        caption="",
        pointer=place,
        grid=plain_grid(columns, rows),
        columns=columns,
        comments=_meanings(name, graph["actions"][graph["tables"][place]]["settings"], columns),
        rows=rows,
        texts={"csv": _text(store, pointer, "csv")},
        published=(),
        left_out=left_out_of(table.schema),
    )


def _meanings(name: str, settings: Json, columns: Sequence[str]) -> dict[str, str]:
    """Return the meanings of columns: from their SQL, else from the catalog."""
    stated = column_comments(str(settings.get("sql", name)))
    found = {column: stated.get(column) or meaning(name, column) for column in columns}
    return {column: text for column, text in found.items() if text}


def _drawing(results: Path, store: Store, pointer: Path) -> Json:
    """Return the settings of the action that drew a table or a figure."""
    drawn = placement(results, pointer.with_suffix(".md.json"))
    return read_record(store, drawn.action).ingredients.settings


def _text(store: Store, pointer: Path, extension: str) -> str:
    other = pointer.with_suffix(f".{extension}.json")
    return store.checked_path(Pointer.read(other)).read_text("utf-8")


def json_value(value: object) -> Any:  # noqa: ANN401
    """Return a stored value as a lossless JSON value, or as text if JavaScript cannot hold it.

    >>> json_value(0.1), json_value(2**60), json_value(float("inf")), json_value(b"ab")
    (0.1, '1152921504606846976', 'inf', '2 bytes')
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT_INTEGERS else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return f"{len(value)} bytes" if isinstance(value, bytes) else json.dumps(value, default=str)


def svg_size(svg: str) -> tuple[int, int]:
    """Return the size of a drawn figure in rounded CSS pixels; 640 by 480 if it has none.

    >>> svg_size('<svg width="237.6pt" height="180pt" viewBox="0 0 237.6 180">')
    (317, 240)
    """
    found = _POINTS.search(svg[:2000])
    if not found:
        return 640, 480
    return round(float(found[1]) * _PX_PER_PT), round(float(found[2]) * _PX_PER_PT)


def audit_of(name: str) -> str:
    """Return the audit that a table or a figure belongs to.

    >>> audit_of("similarity_fig15_val")
    'similarity'
    """
    return name.partition("_")[0]


def reading_order(names: Sequence[str]) -> list[str]:
    """Return names by audit, then numbered ones by number, then the others.

    >>> reading_order(["parrot_truth", "parrot_table10", "parrot_table2", "similarity_fig3"])
    ['similarity_fig3', 'parrot_table2', 'parrot_table10', 'parrot_truth']
    """

    order = [audit.name for audit in audits()]

    def key(name: str) -> tuple[int, str, float, str]:
        audit = audit_of(name)
        position = order.index(audit) if audit in order else len(order)
        number = re.search(r"_(?:table|fig)(\d+)", name)
        return position, audit, float(number[1]) if number else math.inf, name

    return sorted(names, key=key)
