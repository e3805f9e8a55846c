"""The samples in galleries: which ones, the audits' findings for each, and their images."""

import io
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import duckdb
from markupsafe import Markup

from clipaudit.catalog.lockable import lockable
from clipaudit.catalog.parts import audit_parts
from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.samples.fate import fate_at
from clipaudit.catalog.samples.sections import sentences, shown_beside
from clipaudit.catalog.sqltext import identifier
from clipaudit.catalog.tables import view_columns
from clipaudit.config.pictures import has_pictures
from clipaudit.config.settings import Settings
from clipaudit.corpora.addresses import sample_address
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.lookup import read_pictures
from clipaudit.corpora.reasons import Unusable
from clipaudit.errors import InputError
from clipaudit.plaindata import Json, Row
from clipaudit.plaintext import plain
from clipaudit.site.content import FigureContent, json_value

SIDE = 512  # pixels of an image's longer side, at most
QUALITY = 90  # of its JPEG

# columns with corpus, shard and row of a gallery's samples; each gallery has one or more of these
ADDRESS_COLUMNS = (
    ("testset", "test_shard", "test_row"),
    ("corpus", "shard", "row"),
    ("source", "shard", "row"),
    ("other", "other_shard", "other_row"),
)

# columns that identify a sample in a view of the catalog
_PAIRS = (
    ("shard", "row"),
    ("test_shard", "test_row"),
    ("other_shard", "other_row"),
    ("duplicate_shard", "duplicate_row"),
)
_GROUP = ("first_shard", "first_row")  # columns that identify a group of samples in a view
_LEFT_OUT = {"audit"}  # derived from the other views
_WHOLE = {"shard_files", "vocabulary"}  # not about samples, but a sample's page needs them
_DRAWN = {"polygon", "box", "words_polygons"}

_ASKED = "corpus that is asked for"  # a column added to those of the view


@dataclass(frozen=True)
class ShownRow:
    """A row of a gallery, and the samples that it shows: one, or a pair."""

    gallery: str
    samples: tuple[Address, ...]


@dataclass(frozen=True)
class ShownPicture:
    """An image's file, relative to the report, and its size in pixels; or why there is none."""

    path: str | None = None
    width: int = 0
    height: int = 0
    why_none: str = ""


@dataclass(frozen=True)
class ShownBeside:
    """Another sample shown on a page: its description and its image."""

    address: Address
    words: str
    picture: ShownPicture = field(default_factory=ShownPicture)


@dataclass(frozen=True)
class SamplePage:
    """A sample that a gallery shows. Paths are relative to the report."""

    corpus: str
    corpus_title: str
    shard: int
    row: int
    uid: str
    caption: str
    figures: tuple[str, ...]
    fate: Json
    page: str
    sentences: tuple[str, ...] = ()  # of its fate
    shapes: Markup = field(default_factory=Markup)  # SVG over it, in stored pixels
    size: tuple[int, int] = (0, 0)  # of the stored picture
    beside: tuple[ShownBeside, ...] = ()
    picture: ShownPicture = field(default_factory=ShownPicture)

    @property
    def address(self) -> Address:
        """Return the address of the sample."""
        return Address(self.corpus, self.shard, self.row)

    @property
    def addresses(self) -> list[Address]:
        """Return the samples whose images the page shows."""
        return [self.address, *(other.address for other in self.beside)]


def shown_rows(figures: Sequence[FigureContent], worst: Mapping[str, str]) -> list[ShownRow]:
    """Return the rows of the galleries that show samples, of rows with the same samples the first.

    Galleries take turns, so that the first row of each comes early. `worst` names columns of
    galleries whose highest values come first; other galleries keep their order.
    """
    galleries = [figure.table for figure in figures if figure.is_gallery]
    lists = [
        dict.fromkeys(
            ShownRow(table.name, tuple(row_addresses(row)))
            for row in worst_first(table.rows, worst.get(table.name, ""))
        )
        for table in galleries
    ]
    return [row for turn in zip_longest(*lists) for row in turn if row and row.samples]


def worst_first(rows: Sequence[Row], by: str) -> Sequence[Row]:
    """Return a gallery's rows with the highest values of the column `by` first, if it is given."""
    return sorted(rows, key=lambda row: -row[by]) if by else rows


def row_addresses(row: Row) -> Iterator[Address]:
    """Yield the samples that a row of a gallery's table shows: one, or a pair."""
    for kind in ADDRESS_COLUMNS:
        if all(row.get(name) is not None for name in kind):
            corpus, shard, number = (row[name] for name in kind)
            yield Address(str(corpus), shard, number)


def first_samples(rows: Sequence[ShownRow], corpora: Collection[str], limit: int) -> list[Address]:
    """Return the samples of the first rows, each once, without cutting a row at the `limit`."""
    chosen: dict[Address, None] = {}
    for row in rows:
        more = chosen | dict.fromkeys(each for each in row.samples if each.corpus in corpora)
        if len(more) > limit:
            break
        chosen = more
    return list(chosen)


def sample_pages(
    rows: Sequence[ShownRow], catalog: Path, run: Settings, limit: int
) -> list[SamplePage]:
    """Return the pages of the samples in the first rows, at most `limit`, without images.

    Either all samples of a row have pages or none, apart from those that the catalog lacks.
    """
    galleries: dict[Address, dict[str, None]] = {}
    for row in rows:
        for address in row.samples:
            galleries.setdefault(address, {})[row.gallery] = None
    chosen = first_samples(rows, run.corpora, limit)
    with excerpt(catalog, chosen) as connection:
        known = Excerpt(connection)
        pages = (_page(known, run, address, tuple(galleries[address])) for address in chosen)
        return [page for page in pages if page is not None]


def _page(
    catalog: SampleCatalog, run: Settings, address: Address, figures: tuple[str, ...]
) -> SamplePage | None:
    corpus, shard, row = address.corpus, address.shard, address.row
    try:
        fate = fate_at(catalog, catalog.find(corpus, f"{shard}:{row}"))
    except InputError:
        return None  # no table reads this corpus, so the catalog lacks it
    sample = fate["sample"]
    if (sample["shard"], sample["row"]) != (shard, row):
        return None  # another sample's key looks like an address
    shapes = (shape for part in audit_parts(fate) for shape in part.shapes(fate))
    uid = str(sample.get("uid") or f"{shard}-{row}")
    return SamplePage(
        corpus=corpus,
        corpus_title=plain(run.title(corpus)),
        shard=shard,
        row=row,
        uid=uid,
        caption=plain(sample.get("caption") or ""),
        figures=figures,
        fate=told_fate(fate),
        page=f"samples/{corpus}-{shard}-{row}.html",
        sentences=tuple(map(plain, sentences(fate))),
        shapes=Markup("".join(shapes)),  # escaped where they are made
        size=(sample.get("width") or 0, sample.get("height") or 0),
        beside=tuple(ShownBeside(each.address, plain(each.words)) for each in shown_beside(fate)),
    )


class Excerpt(SampleCatalog):
    """A catalog of a few samples that reads each view once; memory grows with their rows."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Connect without reading anything yet."""
        super().__init__(connection)
        self._once = cache(self._read)

    def about(self, address: Address, view: str, *order: str) -> list[Row]:
        """Return the rows of a view about one sample, ordered by the given columns it has."""
        has_samples = self.has(view, "shard", "row")
        return self._once(view, order).get(address, []) if has_samples else []

    def _read(self, view: str, order: Sequence[str]) -> Mapping[Address, list[Row]]:
        found: dict[Address, list[Row]] = defaultdict(list)
        corpus = f'{self.corpus(view)} as "{_ASKED}"'
        ordered = self.ordered(view, order)
        for asked in self.ask(f"select {corpus}, {self.shown(view)} from {view}{ordered}"):
            row = {column: value for column, value in asked.items() if column != _ASKED}
            found[Address(asked[_ASKED], row["shard"], row["row"])].append(row)
        return found


@contextmanager
def excerpt(catalog: Path, addresses: Iterable[Address]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a catalog in memory with the rows about some samples and the samples they duplicate.

    Each view is read once; reading hundreds of samples one by one would take minutes.
    """
    with lockable(catalog) as readable, duckdb.connect() as connection:
        connection.execute("attach $catalog as whole (read_only)", {"catalog": str(readable)})
        connection.execute("create temp table wanted (shard int, row int)")
        values = ", ".join(f"({each.shard}, {each.row})" for each in addresses)
        if values:
            connection.execute(f"insert into wanted values {values}")
        columns = view_columns(connection, "whole")
        if {"duplicate_shard", "duplicate_row"} <= set(columns.get("duplicates", ())):
            connection.execute(
                "insert into wanted select duplicate_shard, duplicate_row from whole.duplicates "
                "semi join wanted using (shard, row) where duplicate_shard is not null"
            )
        for view in sorted(columns.keys() - _LEFT_OUT):
            if sql := _excerpt_sql(view, columns[view]):
                connection.execute(sql)
        connection.execute("detach whole")
        # thousands of small queries: threads and the optimizer would cost more than they save
        connection.execute("set threads = 1")
        connection.execute("pragma disable_optimizer")
        yield connection


def _excerpt_sql(view: str, columns: Sequence[str]) -> str | None:
    pairs = [pair for pair in _PAIRS if set(pair) <= set(columns)]
    if not pairs and view not in _WHOLE:
        return None
    ways = [f"({shard}, {row}) in (from wanted)" for shard, row in pairs]
    if {*_GROUP, "shard", "row"} <= set(columns):
        own = f"from whole.{identifier(view)} semi join wanted using (shard, row)"
        group = ", ".join(_GROUP)
        ways.append(f"({group}) in (select {group} {own})")
    is_wanted = " or ".join(ways)
    kept = "* exclude (embedding)" if "embedding" in columns else "*"
    return (
        f"create table main.{identifier(view)} as "
        f"select {kept} from whole.{identifier(view)} where {is_wanted or 'true'}"
    )


def pictures(addresses: Iterable[Address], run: Settings) -> dict[Address, bytes | str]:
    """Return the images of samples as JPEG files; a text says why there is none."""
    found: dict[Address, bytes | str] = {}
    by_corpus: dict[str, dict[int, Address]] = {}
    for each in addresses:
        by_corpus.setdefault(each.corpus, {})[sample_address(each.shard, each.row)] = each
    for corpus, wanted in by_corpus.items():
        if not has_pictures(run, corpus):
            why = f"{plain(run.title(corpus))} has no images"
            found |= dict.fromkeys(wanted.values(), why)
            continue
        paths = {number: Path(path) for number, path in enumerate(run.shards(corpus))}
        try:
            read = read_pictures(paths, wanted)
        except (InputError, OSError) as error:
            found |= dict.fromkeys(wanted.values(), f"{plain(error)}")
            continue
        found |= {each: _jpeg(read[number]) for number, each in wanted.items()}
    return found


def _jpeg(data: bytes) -> bytes | str:
    """Return an image as pages show it, as JPEG, so that no bytes of a corpus reach the browser."""
    try:
        image = open_picture(data, as_shown=True).rgb
    except Unusable as unusable:
        return plain(unusable)
    image.thumbnail((SIDE, SIDE))
    written = io.BytesIO()
    image.save(written, "JPEG", quality=QUALITY)
    return written.getvalue()


def told_fate(fate: Json) -> dict[str, Any]:
    r"""Return a sample's data for its page, without empty parts and with harmless texts.

    Columns of a list that are null in all rows are removed; so are polygons, which only a drawing
    can show.

    >>> told_fate({"drops": [], "scores": [{"raw": 0.5, "co": None}], "text": {"words": "a\x1b"}})
    {'scores': [{'raw': 0.5}], 'text': {'words': 'a\\x1b'}}
    """
    told = {name: _told(part) for name, part in fate.items()}
    return {name: part for name, part in told.items() if part not in (None, {}, [])}


def _told(part: Any) -> Any:  # noqa: ANN401
    if isinstance(part, Mapping):
        inner = {plain(name): _told(value) for name, value in part.items() if name not in _DRAWN}
        return {name: value for name, value in inner.items() if value not in (None, {}, [])}
    if isinstance(part, list | tuple):
        rows = [_told(inner) for inner in part]
        if not all(isinstance(row, dict) for row in rows):
            return rows
        flat_rows = [dict(_flat(row)) for row in rows]
        names = dict.fromkeys(name for row in flat_rows for name in row)
        return [{name: row.get(name) for name in names} for row in flat_rows]
    return plain(part) if isinstance(part, str) else json_value(part)


def _flat(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the cells of a table's line; nested values get their full name, or become text."""
    for name, value in row.items():
        if isinstance(value, dict):
            yield from ((f"{name}: {inner}", held) for inner, held in value.items())
        elif isinstance(value, list):
            yield name, "; ".join(_listed(inner) for inner in value)
        else:
            yield name, value


def _listed(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    held = (
        (name, f"{inner:.6g}" if isinstance(inner, float) else inner)
        for name, inner in value.items()
    )
    return ", ".join(f"{name} {inner}" for name, inner in held)
