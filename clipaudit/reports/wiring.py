"""The files and settings of the jobs that make tables, figures and the report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from clipaudit.config.audits import Audit, folder_of
from clipaudit.config.plugins import package_place
from clipaudit.reports.contents import VectorMap, contents, vector_maps
from clipaudit.reports.specification import Gallery, ReportFigure, ReportTable
from clipaudit.reports.titles import headed
from clipaudit.steps import paths
from clipaudit.steps.reportfiles import report_file
from clipaudit.steps.workflow import code
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.wildcards import Paths, Wildcards

MAPPED_PARTS = 8  # parts whose embeddings a map is drawn from, so that a job reads few samples


class ReportFiles:
    """The tables, figures and galleries that some settings ask for, by the wildcards of rules."""

    def __init__(self, corpora: CorpusFiles) -> None:
        """Ask every audit what it reports."""
        self.corpora, self.run = corpora, corpora.run
        self.tables: dict[str, ReportTable] = {}
        self.figures: dict[str, ReportFigure] = {}
        self._galleries: dict[str, Gallery] = {}
        unread: list[str] = []
        for audit, _ in self.run.audits():
            reported = contents(audit)
            for tables in reported.tables:
                self.tables |= tables(self.run)
            for figures in reported.figures:
                self.figures |= figures(self.run)
            self._galleries |= reported.galleries(self.run)
            unread += reported.unread(self.run)

        # pointers of everything that the enabled audits have, and of its readable files
        self.table_pointers = self._results(map(paths.table, self.tables))
        names = [*self.figures, *self._galleries]
        self.figure_pointers = self._results(map(paths.figure, names))
        self.drawn_tables = self._results(map(paths.drawn_table, self.tables))
        self.drawn_figures = self._results(map(paths.drawn_figure, self.figures))
        self.maps = {(each.encoder, each.corpus): each for each in vector_maps(self.run)}
        self.map_pointers = self._results(paths.vector_map(*names) for names in self.maps)
        # pointers for the catalog that no table reads
        self.unread_pointers = [*self._results(unread), *self.map_pointers]

        # code that the catalog and the report import by name, and its data
        known = self.run.known_audits()
        self.catalog_files, self.site_files = catalog_files(known), site_files(known)

    def galleries(self, audit: str) -> Mapping[str, Gallery]:
        """Return the galleries of an audit that is on."""
        every = self._galleries.items()
        return {name: gallery for name, gallery in every if name.startswith(f"{audit}_")}

    # --- tables and figures -----------------------------------------------------------------------

    def computed_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the pointers that the SQL of a table, or of a figure's table, reads, by view."""
        return self.pointers(self._computed(wildcards).inputs)

    def computed_files(self, wildcards: Wildcards) -> Paths:
        """Return the files behind a table, or a figure's table: see `table_files`."""
        return table_files(self._computed(wildcards).sql, wildcards.table)

    def computed_code(self, wildcards: Wildcards) -> str:
        """Return the digest of the code that makes a table, or a figure's table."""
        return code("report_table", *self.computed_files(wildcards))

    def computed(self, name: str) -> Callable[[Wildcards], object]:
        """Return a function that gives a field of a table's, or a figure's, `ReportTable`."""
        return lambda wildcards: getattr(self._computed(wildcards), name)

    def _computed(self, wildcards: Wildcards) -> ReportTable:
        figure = self.figures.get(wildcards.table)
        return figure.table if figure else self.tables[wildcards.table]

    def layout(self, wildcards: Wildcards) -> Paths:
        """Return the code of a table's layout: its entry in its audit's layouts."""
        return [f"{_reports(wildcards.table)}/layouts.py::{wildcards.table}"]

    def layout_code(self, wildcards: Wildcards) -> str:
        """Return the digest of the code that draws a table."""
        return code("draw_table", *self.layout(wildcards))

    def form_files(self, wildcards: Wildcards) -> Paths:
        """Return the code of the form that a figure is drawn in."""
        return [f"clipaudit/reports/forms/{self.figures[wildcards.figure].form}.py"]

    def form_code(self, wildcards: Wildcards) -> str:
        """Return the digest of the code that draws a figure."""
        return code("draw_figure", *self.form_files(wildcards))

    def drawn(self, name: str) -> Callable[[Wildcards], object]:
        """Return a function that gives a field of `ReportFigure`."""
        return lambda wildcards: getattr(self.figures[wildcards.figure], name)

    def caption(self, wildcards: Wildcards) -> str:
        """Return the caption of a figure or a gallery after its title, as in its files."""
        name = wildcards.figure
        made = self.figures.get(name) or self._galleries[name]
        return headed(name, made.title, made.caption)

    # --- galleries --------------------------------------------------------------------------------

    def gallery_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return a gallery's input pointers, and the tars if it shows images."""
        gallery = self._galleries[wildcards.figure]
        pointers = self.pointers(gallery.inputs)
        tars = self.corpora.tars(gallery.shown)
        return {**pointers, "tars": tars} if tars else pointers

    def gallery(self, name: str) -> Callable[[Wildcards], object]:
        """Return a function that gives a field of `Gallery`, as plain data."""
        return lambda wildcards: asdict(self._galleries[wildcards.figure])[name]

    # --- maps of vectors --------------------------------------------------------------------------

    def mapped_embeddings(self, wildcards: Wildcards) -> Paths:
        """Return the embeddings that a map's samples are drawn from: those of some parts."""
        return _spread(
            self.corpora.pointers_of(f"embeddings/{wildcards.encoder}/{wildcards.corpus}")
        )

    def mapped_tests(self, wildcards: Wildcards) -> Paths:
        """Return the embeddings of the test sets beside a map's corpus."""
        folder = f"embeddings/{wildcards.encoder}"
        return self.corpora.by_part_of_each(folder, self.mapped_test_sets(wildcards))

    def mapped_test_sets(self, wildcards: Wildcards) -> list[str]:
        """Return the test sets beside a map's corpus."""
        return list(self._map(wildcards).test_sets)

    def _map(self, wildcards: Wildcards) -> VectorMap:
        return self.maps[wildcards.encoder, wildcards.corpus]

    # --- pointers ---------------------------------------------------------------------------------

    def pointers(self, inputs: Mapping[str, Sequence[str]]) -> dict[str, Paths]:
        """Return pointers, relative to results/, as the rules name them."""
        return {view: self._results(named) for view, named in inputs.items()}

    def _results(self, named: Iterable[str]) -> Paths:
        return [self.corpora.result(path) for path in named]


def _spread(pointers: Paths) -> Paths:
    """Return all parts, or MAPPED_PARTS of them at equal distances from the first."""
    count = min(len(pointers), MAPPED_PARTS)
    return [pointers[len(pointers) * number // count] for number in range(count)]


def catalog_files(of: Iterable[Audit[Any]]) -> Paths:
    """Return the files of some audits' reports that the catalog reads or imports by name."""
    return _audit_files(of, "samples.py", "columns.tsv")


def site_files(of: Iterable[Audit[Any]]) -> Paths:
    """Return the files of some audits' reports that the report reads, including the catalog's."""
    of = list(of)
    return [*catalog_files(of), *_audit_files(of, "contents.py", "layouts.py")]


def _audit_files(of: Iterable[Audit[Any]], *names: str) -> Paths:
    return [
        f"{_reports(audit.name)}/{name}"
        for audit in of
        for name in names
        if (package_place(folder_of(audit.name)) / "reports" / name).is_file()
    ]


def table_files(sql: str, table: str) -> Paths:
    """Return the files behind a table besides imported code, each as `clipaudit/...`.

    They are its SQL, the columns of views that may be empty, and its published values, if any. For
    a plug-in's table each path begins with the plug-in's package.
    """
    named: list[tuple[Literal["sql", "published"], str]] = [
        ("sql", f"{sql}.sql"),
        ("sql", f"{sql.partition('_')[0]}_empty_views.sql"),
        ("published", f"{table}.csv"),
    ]
    there = ((kind, name) for kind, name in named if report_file(kind, name).is_file())
    return [f"{_reports(sql)}/{kind}/{name}" for kind, name in there]


def _reports(name: str) -> str:
    """Return the folder of the reports of the audit that a name begins with, from its package."""
    return f"{folder_of(name).replace('.', '/')}/reports"
