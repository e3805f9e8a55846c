"""Render the report's pages from plain data: all text is escaped, and no page makes a request."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jinja2
from markupsafe import Markup, escape

from clipaudit.reports.layouts import MISSING
from clipaudit.reports.rendering import BETWEEN_BACKTICKS
from clipaudit.site.answers import Answered
from clipaudit.site.cells import PrintedCell
from clipaudit.site.content import FigureContent, TableContent
from clipaudit.site.examples import examples
from clipaudit.site.facts import Drop
from clipaudit.site.fronts import ShownFront
from clipaudit.site.looking import LookPage
from clipaudit.site.maps import MapPage
from clipaudit.site.published_numbers import published_lines, published_pairs
from clipaudit.site.samples import ADDRESS_COLUMNS, SamplePage
from clipaudit.site.search_index import SearchIndex, slug
from clipaudit.site.values import shown

READS = (
    "templates/base.html.j2",
    "templates/cost.html.j2",
    "templates/drops.html.j2",
    "templates/figure.html.j2",
    "templates/figures.html.j2",
    "templates/index.html.j2",
    "templates/look.html.j2",
    "templates/macros.html.j2",
    "templates/map.html.j2",
    "templates/published.html.j2",
    "templates/sample.html.j2",
    "templates/samples.html.j2",
    "templates/settings.html.j2",
    "templates/table.html.j2",
    "templates/tables.html.j2",
)

PARTS = (
    ("index", "Overview"),
    ("tables", "Tables"),
    ("figures", "Figures"),
    ("galleries", "Galleries"),
    ("map", "Map"),
    ("samples", "Samples"),
    ("published", "Published"),
    ("drops", "Drops"),
    ("settings", "Settings"),
    ("cost", "Cost"),
)

_ENLARGED = 1.8  # times the printed size, on its own page: its type then matches the page's
_HIDDEN = "This run's settings exclude images from the report; uids replace them."


def coded(text: str) -> Markup:
    """Escape a sentence and set what stands between backticks, names of settings, as code.

    >>> print(coded("`similarity.seeds` < 2"))
    <code>similarity.seeds</code> &lt; 2
    """
    return Markup(BETWEEN_BACKTICKS.sub(r"<code>\1</code>", str(escape(text))))


@dataclass(frozen=True)
class Site:
    """The contents of the report."""

    title: str
    version: str
    folders: str  # options of a command for this run
    answers: Sequence[Answered]
    fronts: Mapping[str, ShownFront]  # by audit
    facts: Mapping[str, Any]  # of run_facts
    tables: Sequence[TableContent]
    figures: Sequence[FigureContent]
    samples: Sequence[SamplePage]
    samples_left_out: int
    search: SearchIndex
    looks: Sequence[LookPage]
    maps: Sequence[MapPage]
    shows_pictures: bool
    drops: Sequence[Drop]
    settings: Mapping[str, str]  # YAML by section
    cost: Mapping[str, Any]  # of run_cost
    files: Mapping[str, Sequence[str]]  # name of a table or a figure -> its files, to download

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The entries of the menu, without empty pages."""
        there = {"map": self.maps, "published": self.published}
        return [part for part in PARTS if there.get(part[0], True)]

    @cached_property
    def published(self) -> Sequence[Mapping[str, Any]]:
        """Our numbers that have a published counterpart."""
        return published_pairs(self.tables)


@dataclass(frozen=True)
class GridView:
    """The data that a template needs about a printed table, in addition to its text."""

    kinds: Sequence[bool]  # whether each column is numeric; the column of names comes first
    meanings: Sequence[str]  # of the column that gives each heading its values
    links: Sequence[str | None]  # the page of the sample that each printed row is about
    opened: Mapping[PrintedCell, str]  # the pages of the samples that cells name
    places: Mapping[str, int]

    def address(self, cell: PrintedCell) -> Markup:
        """Return the attributes that lead the script to a cell's stored values."""
        if cell.row is None or not cell.columns:
            return Markup("")
        columns = " ".join(str(self.places[name]) for name in cell.columns)
        value = f' data-v="{cell.value!r}"' if isinstance(cell.value, int | float) else ""
        # only numbers: nothing to escape
        return Markup(f' data-r="{cell.row}" data-c="{columns}"{value}')


def rendered(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the path of each page, relative to the report, and its HTML.

    The page of published numbers exists only if a number of ours has a published counterpart.
    """
    render = _Renderer(site)
    has_intervals = any(each.has_intervals for each in site.answers)
    yield render("index", answers=site.answers, facts=site.facts, has_intervals=has_intervals)
    yield render("tables", heading="Tables", contents=site.tables)
    for content in site.tables:
        yield render.table(content)
    drawn = _cards(site, galleries=False)
    yield render("figures", heading="Figures", figures=drawn, note="", looks=())
    note = "" if site.shows_pictures else _HIDDEN
    galleries = _cards(site, galleries=True)
    named: dict[str, Any] = {"heading": "Galleries", "note": note, "looks": site.looks}
    yield render("galleries", "figures", figures=galleries, **named)
    for figure in site.figures:
        yield render.figure(figure)
    yield render(
        "samples", samples=site.samples, left_out=site.samples_left_out, search=site.search
    )
    for sample in site.samples:
        yield render("samples", "sample", sample.page, sample=sample, pages=render.pages)
    for page in site.looks:
        yield render("galleries", "look", page.path, page=page)
    if site.maps:
        yield render("map", maps=site.maps)
    if site.published:
        yield render("published", pairs=site.published)
    counts = [(drop.stage, drop.corpus, drop.reason, drop.samples) for drop in site.drops]
    yield render("drops", drops=site.drops, counts=counts)
    yield render("settings", sections=site.settings)
    yield render("cost", **site.cost)


class _Renderer:
    """Renders the templates for one site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.samples = {page.address: page for page in site.samples}
        self.pages = {(page.corpus, page.shard, page.row): page.page for page in site.samples}
        every = [*site.tables, *(figure.table for figure in site.figures)]
        self.titles = {content.name: content.title for content in every}
        self.environment = jinja2.Environment(
            loader=jinja2.PackageLoader("clipaudit.site"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.filters |= {
            "coded": coded,
            "shown": shown,
            "slug": slug,
            "published_lines": published_lines,
        }

    def __call__(
        self,
        part: str,
        template: str | None = None,
        path: str | None = None,
        **values: Any,  # noqa: ANN401
    ) -> tuple[str, str]:
        """Return the path and the HTML of a page; `part` is its entry in the menu."""
        path = path or f"{part}.html"
        page = self.environment.get_template(f"{template or part}.html.j2").render(
            site=self.site, part=part, root="../" * path.count("/"), titles=self.titles, **values
        )
        return path, page

    def table(self, content: TableContent) -> tuple[str, str]:
        """Return the page of a table."""
        return self(
            "tables",
            "table",
            f"tables/{content.name}.html",
            content=content,
            view=grid_view(content, self.pages),
            legend=content.comments,
            files=self.site.files.get(content.name, ()),
        )

    def figure(self, figure: FigureContent) -> tuple[str, str]:
        """Return the page of a figure, with the samples that it shows if it is a gallery."""
        content = figure.table
        return self(
            "galleries" if figure.is_gallery else "figures",
            "figure",
            f"figures/{content.name}.html",
            content=content,
            figure=_card(self.site, figure),
            enlarged=_ENLARGED,
            view=grid_view(content, self.pages),
            examples=list(examples(figure, self.samples)) if figure.is_gallery else (),
            files=self.site.files.get(content.name, ()),
        )


def _card(site: Site, figure: FigureContent) -> dict[str, Any]:
    return {
        "table": figure.table,
        "picture": site.shows_pictures or not figure.is_gallery,
        "is_gallery": figure.is_gallery,
        "width": figure.width,
        "height": figure.height,
    }


def _cards(site: Site, *, galleries: bool) -> list[dict[str, Any]]:
    return [_card(site, figure) for figure in site.figures if figure.is_gallery == galleries]


def grid_view(content: TableContent, pages: Mapping[tuple[str, int, int], str]) -> GridView:
    """Return a page's data about a printed table: kinds, meanings, links, places."""
    width = len(content.grid.heads)
    numbers, words, meanings = [False] * width, [False] * width, [""] * width
    for lines in content.grid.rows:
        for place, cell in enumerate(lines[0].cells, 1):
            is_number = isinstance(cell.value, int | float)
            numbers[place] |= is_number
            words[place] |= not is_number and cell.text not in ("", MISSING)
            if cell.columns and not meanings[place]:
                meanings[place] = content.comments.get(cell.columns[0], "")
    cells = [cell for lines in content.grid.rows for cell in lines[0].cells]
    opened = {cell: page for cell in cells if (page := _opened(content, cell, pages))}
    links = [
        None if opened.keys() & lines[0].cells else _link(content, lines[0].cells, pages)
        for lines in content.grid.rows
    ]
    places = {name: place for place, name in enumerate(content.columns)}
    kinds = [False, *(some or not words[place] for place, some in enumerate(numbers) if place)]
    return GridView(kinds, meanings, links, opened, places)


def _opened(
    content: TableContent, cell: PrintedCell, pages: Mapping[tuple[str, int, int], str]
) -> str | None:
    """Return the page of the sample that a cell names by its shard and row, if it does."""
    for corpus, *place in ADDRESS_COLUMNS:
        if cell.row is not None and cell.columns == tuple(place):
            row = content.rows[cell.row]
            return pages.get((row.get(corpus) or "", row[place[0]], row[place[1]]))
    return None


def _link(
    content: TableContent,
    cells: Sequence[PrintedCell],
    pages: Mapping[tuple[str, int, int], str],
) -> str | None:
    number = next((cell.row for cell in cells if cell.row is not None), None)
    if number is None or not {"shard", "row"} <= set(content.columns):
        return None
    row = content.rows[number]
    return pages.get((row.get("corpus") or row.get("source") or "", row["shard"], row["row"]))
