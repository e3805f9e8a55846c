"""Gather and render `results/report`, and replace it as a whole."""

import importlib.metadata
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml

from clipaudit.catalog.views import CATALOG, open_catalog
from clipaudit.config.settings import Settings
from clipaudit.lineage.graph import table_graph
from clipaudit.plaindata import Json
from clipaudit.plaintext import plain
from clipaudit.reports.contents import declared_figures
from clipaudit.reports.leftout import LeftOut, left_out_whole
from clipaudit.site import assets
from clipaudit.site.answers import answers
from clipaudit.site.content import read_figure, read_table, reading_order
from clipaudit.site.facts import drops, enabled, run_cost, run_facts
from clipaudit.site.fronts import shown_fronts, worst_columns
from clipaudit.site.looking import LookPage, look_pages, with_pictures
from clipaudit.site.maps import MapPage, map_pages, write_maps
from clipaudit.site.pages import Site, rendered
from clipaudit.site.samples import SamplePage, pictures, sample_pages, shown_rows
from clipaudit.site.search_index import search_index
from clipaudit.store.store import Store
from clipaudit.suggestions import folder_options


def write_report(
    target: Path, run: Settings, store: Store, tables: Iterable[Path], figures: Iterable[Path]
) -> None:
    """Write the report of a run into the folder `target`, whole or not at all.

    `tables` and `figures` are pointers below the run's results, which also hold its catalog. An
    existing `target` is replaced. Raises StoreError for a pointer, a record or an object that is
    missing or altered.
    """
    written = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir(parents=True)
    try:
        _write(written, run, store, _ordered(tables), _ordered(figures))
        assets.put_in_place(written, target)
    except BaseException:
        shutil.rmtree(written, ignore_errors=True)
        raise


def _ordered(pointers: Iterable[Path]) -> list[Path]:
    by_name = {pointer.stem: pointer for pointer in pointers}
    return [by_name[name] for name in reading_order(list(by_name))]


def _write(
    folder: Path, run: Settings, store: Store, tables: Sequence[Path], figures: Sequence[Path]
) -> None:
    results = Path(run.results)
    left_out = left_out_whole(store, [*tables, *figures])
    tables, figures = (
        [pointer for pointer in pointers if pointer.stem not in left_out]
        for pointers in (tables, figures)
    )
    graph = table_graph(results, store, [*tables, *figures])
    assets.write_static(folder)
    assets.write_lineage(folder, graph)
    site = _gathered(folder, run, store, graph, tables, figures, left_out)
    for path, page in rendered(site):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(page, "utf-8")


def _gathered(
    folder: Path,
    run: Settings,
    store: Store,
    graph: Json,
    tables: Sequence[Path],
    figures: Sequence[Path],
    left_out: Mapping[str, LeftOut],
) -> Site:
    """Return the pages' contents, after writing the files that they refer to."""
    results = Path(run.results)
    read = [read_table(results, store, pointer, graph) for pointer in tables]
    declared = declared_figures(run)
    drawn = [
        read_figure(results, store, pointer, graph, declared.get(pointer.stem))
        for pointer in figures
    ]
    shows_pictures = run.report.pictures
    forms: dict[Path, Sequence[str]] = dict.fromkeys(tables, assets.TABLE_FILES)
    for pointer, figure in zip(figures, drawn, strict=True):
        hidden = figure.is_gallery and not shows_pictures
        forms[pointer] = assets.DATA_FILES if hidden else assets.FIGURE_FILES
    rows = shown_rows(drawn, worst_columns(run))
    pages = sample_pages(rows, results / CATALOG, run, run.report.samples)
    samples_left_out = len({each for row in rows for each in row.samples}) - len(pages)
    made_without = {each.name: each.left_out for each in [*read, *(each.table for each in drawn)]}
    maps = _maps(folder, run, pages)
    if shows_pictures:
        shown = (address for page in pages for address in page.addresses)
        pages = assets.write_pictures(folder, pages, pictures(shown, run))
    with open_catalog(results) as connection:
        found = search_index(connection, run, pages)
        assets.write_search(folder, found.script)
        return Site(
            title=run.report.title,
            version=importlib.metadata.version("clipaudit"),
            folders=plain(folder_options(run.results, run.store)),
            fronts=shown_fronts(run, drawn, pages),
            answers=answers(
                {table.name: table.rows for table in read},
                enabled(run),
                {**made_without, **left_out},
            ),
            facts=run_facts(run, connection, graph),
            tables=read,
            figures=drawn,
            samples=pages,
            samples_left_out=samples_left_out,
            search=found,
            looks=_looks(folder, run) if shows_pictures else (),
            maps=maps,
            shows_pictures=shows_pictures,
            drops=drops(connection),
            settings=settings_text(run),
            cost=run_cost(graph, connection),
            files={
                pointer.stem: assets.copy_files(folder, store, pointer, extensions)
                for pointer, extensions in forms.items()
            },
        )


def _looks(folder: Path, run: Settings) -> list[LookPage]:
    """Return the pages of images to check by hand, after writing these images."""
    found = []
    for page in look_pages(Path(run.results) / CATALOG, run):
        read = pictures((each.address for each in page.pictures), run)
        found.append(with_pictures(page, assets.write_looked_at(folder, read)))
    return [page for page in found if page.pictures]


def _maps(folder: Path, run: Settings, samples: Sequence[SamplePage]) -> list[MapPage]:
    """Return the maps of vectors, after writing their tables and the scripts of their points."""
    maps = map_pages(Path(run.results) / CATALOG, run)
    write_maps(folder, maps, {(each.corpus, each.shard, each.row): each.page for each in samples})
    return maps


def settings_text(run: Settings) -> dict[str, str]:
    """Return all settings of a run as YAML, by section, without sections that are off."""
    dumped = run.model_dump(mode="json")
    sections = {name: value for name, value in dumped.items() if isinstance(value, dict) and value}
    single = {name: value for name, value in dumped.items() if isinstance(value, str)}
    return {
        name: yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
        for name, value in {"folders": single, **sections}.items()
    }
