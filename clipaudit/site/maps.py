"""Maps of vectors: the samples' positions on a plane, their known values, and the files of both."""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from clipaudit.catalog.columns import meaning
from clipaudit.catalog.lockable import lockable
from clipaudit.catalog.parts import Colour, audit_parts
from clipaudit.catalog.samples.catalog import Address, SampleCatalog
from clipaudit.catalog.scores import column_name, free_name
from clipaudit.catalog.tables import view_columns
from clipaudit.catalog.views import audit_view
from clipaudit.config.settings import Settings
from clipaudit.plaindata import Row
from clipaudit.plaintext import many, plain
from clipaudit.reports.contents import VectorMap, vector_maps
from clipaudit.reports.specification import encoder_title
from clipaudit.site.content import json_value
from clipaudit.site.samples import excerpt

CAPTION = 200  # characters of a caption that the page shows; the table has all
KEPT = "kept"
_DUPLICATES = Colour("duplicate_cluster", "Cluster searched for duplicates")


@dataclass(frozen=True)
class ColourColumn:
    """A colouring of a map: a value for each point, null if unknown.

    `group` is its heading in the list of colourings; points with the value `quiet` are drawn grey.
    """

    name: str  # of the table's column
    title: str
    group: str
    meaning: str
    values: Sequence[Any]
    is_number: bool = False
    quiet: str = ""

    def data(self) -> dict[str, Any]:
        """Return the data for the page's script, with the most frequent names first."""
        told = {"title": self.title, "group": self.group, "meaning": self.meaning}
        if self.is_number:
            return {**told, "values": [json_value(value) for value in self.values]}
        given = ["" if value is None else plain(value) for value in self.values]
        names = sorted(set(given), key=lambda name: (name != self.quiet, -given.count(name), name))
        places = {name: place for place, name in enumerate(names)}
        return {
            **told,
            "names": names,
            "quiet": int(names[0] == self.quiet),
            "codes": [places[name] for name in given],
        }


@dataclass(frozen=True)
class MapPage:
    """One map: its points, their known values, and its title on pages."""

    asked: VectorMap
    title: str
    points: Sequence[Row]  # of the table, by column: x, y, set, corpus, shard, row, uid, caption
    colours: Sequence[ColourColumn]

    @property
    def table(self) -> str:
        """Return the path of its table, relative to the report."""
        return f"files/map-{self.asked.encoder}-{self.asked.corpus}.parquet"

    @property
    def script(self) -> str:
        """Return the path of the script with its points, relative to the report."""
        return f"data/map-{self.asked.encoder}-{self.asked.corpus}.js"

    @property
    def command(self) -> str:
        """Return the command that opens the table, from the report's folder."""
        return f"embedding-atlas {self.table} --x x --y y --text caption"

    @property
    def summary(self) -> str:
        """Return a sentence that says how many images it has."""
        own = sum(point["corpus"] == self.asked.corpus for point in self.points)
        tests = len(self.points) - own
        beside = f", {many(tests, 'test image')} beside them" if tests else ""
        return f"{many(own, 'image')} of {self.title}, drawn at random{beside}."


def map_pages(catalog: Path, run: Settings) -> list[MapPage]:
    """Return the maps that the settings ask for, in order, if the catalog has their points.

    Each sample has its row of the view `audit`, computed over only these samples.
    """
    with (
        lockable(catalog) as readable,
        duckdb.connect(str(readable), read_only=True) as connection,
    ):
        known = SampleCatalog(connection)
        if not known.has("maps", "encoder", "corpus"):
            return []
        found = [(each, _placed(known, each)) for each in vector_maps(run)]
    samples = _known(catalog, run, {_address(row) for _, placed in found for row in placed})
    return [_page(run, samples, asked, placed) for asked, placed in found if placed]


def _address(row: Row) -> Address:
    return Address(row["corpus"], row["shard"], row["row"])


def _placed(catalog: SampleCatalog, asked: VectorMap) -> list[Row]:
    return catalog.ask(
        "select coalesce(testset, corpus) as corpus, testset, shard, row, x, y from maps "
        "where encoder = ? and corpus = ? order by testset nulls first, shard, row",
        [asked.encoder, asked.corpus],
    )


def _page(
    run: Settings, known: Mapping[Address, Row], asked: VectorMap, placed: Sequence[Row]
) -> MapPage:
    samples = [known.get(_address(row), {}) for row in placed]
    sets = [plain(run.title(row["corpus"])) for row in placed]
    points = [
        {
            "x": row["x"],
            "y": row["y"],
            "set": title,
            **{name: row[name] for name in ("corpus", "shard", "row")},
            **{name: sample.get(name) for name in ("uid", "caption")},
        }
        for row, title, sample in zip(placed, sets, samples, strict=True)
    ]
    title = f"{plain(run.title(asked.corpus))} by {plain(encoder_title(run, asked.encoder))}"
    colours = [
        ColourColumn("set", "Set", "", "", sets, quiet=plain(run.title(asked.corpus))),
        *_colours(run, samples),
        *_fates(samples, set(points[0])),
    ]
    return MapPage(asked, title, points, [each for each in colours if _tells(each)])


def _known(catalog: Path, run: Settings, addresses: Set[Address]) -> dict[Address, Row]:
    """Return the rows of the view `audit` of some samples, by address."""
    with excerpt(catalog, addresses) as connection:
        made = audit_view(view_columns(connection), run)
        if made is None:
            return {}
        connection.execute("pragma enable_optimizer")  # one query, of many parts
        connection.execute(made)
        found = SampleCatalog(connection).ask("from audit")
    return {_address(row): row for row in found}


def _colours(run: Settings, samples: Sequence[Row]) -> Iterator[ColourColumn]:
    """Yield the audits' values of each sample, and the cluster of its duplicates."""
    parts = audit_parts([audit.name for audit, _ in run.audits()])
    for colour in [each for part in parts for each in part.colours] + [_DUPLICATES]:
        values = [sample.get(colour.column) for sample in samples]
        said = meaning("audit", colour.column) or ""
        yield ColourColumn(
            colour.column, colour.title, "", said, values, is_number=colour.is_number
        )


def _fates(samples: Sequence[Row], taken: set[str]) -> Iterator[ColourColumn]:
    """Yield which samples each manifest keeps, and why it removes the others."""
    fates: dict[str, dict[int, str]] = {}
    for place, sample in enumerate(samples):
        for name in sample.get("kept_by") or ():
            fates.setdefault(name, {})[place] = KEPT
        removed = [sample.get(name) or () for name in ("pruned_from", "pruned_because")]
        for name, reason in zip(*removed, strict=True):
            fates.setdefault(name, {})[place] = reason or "removed"
    for name, fate in sorted(fates.items()):
        if set(fate.values()) == {KEPT}:
            continue
        values = [fate.get(place) for place in range(len(samples))]
        column = free_name(column_name("fate", name), taken)
        yield ColourColumn(
            column, plain(name), "Kept or removed, by manifest", "", values, quiet=KEPT
        )


def _tells(colour: ColourColumn) -> bool:
    """Return whether a colour distinguishes any samples; the sets are always shown."""
    known = {value for value in colour.values if value is not None}
    return colour.name == "set" or len(known) > 1 or (len(known) == 1 and None in colour.values)


# --- files ---------------------------------------------------------------------------------------


def write_maps(
    folder: Path, maps: Sequence[MapPage], pages: Mapping[tuple[str, int, int], str]
) -> None:
    """Write each map's table, and the script that gives its points to the page.

    `pages` maps corpus, shard and row to the sample's page, relative to the report.
    """
    for each in maps:
        for path in (each.table, each.script):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(_table(each), folder / each.table, compression="zstd")
        told = json.dumps(_data(each, pages), separators=(",", ":"), allow_nan=False)
        text = f"MAPS[{json.dumps(each.asked.name)}] = {told};\n"
        (folder / each.script).write_text(text, "utf-8")


def _table(page: MapPage) -> pa.Table:
    columns = {name: [point[name] for point in page.points] for name in page.points[0]}
    columns |= {colour.name: list(colour.values) for colour in page.colours}
    types = {"x": pa.float32(), "y": pa.float32(), "shard": pa.int32(), "row": pa.int32()}
    types |= {name: pa.string() for name in ("set", "corpus", "uid", "caption")}
    return pa.table({name: pa.array(each, types.get(name)) for name, each in columns.items()})


def _data(page: MapPage, pages: Mapping[tuple[str, int, int], str]) -> dict[str, Any]:
    """Return the data for the script; places are fractions of the longer axis, around 0.5."""
    places = np.array([[point["x"], point["y"]] for point in page.points], np.float64)
    places -= places.min(axis=0)
    places /= max(places.max(), np.finfo(np.float32).tiny)
    places += (1 - places.max(axis=0)) / 2
    corpora = list(dict.fromkeys(point["corpus"] for point in page.points))
    return {
        "places": places.round(4).tolist(),
        "corpora": corpora,
        "samples": [
            [
                corpora.index(point["corpus"]),
                point["shard"],
                point["row"],
                point["uid"] or "",
                plain(point["caption"] or "")[:CAPTION],
                pages.get((point["corpus"], point["shard"], point["row"]), ""),
            ]
            for point in page.points
        ],
        "colours": [colour.data() for colour in page.colours],
    }
