"""Which files and settings belong to the jobs that make tables, figures and the report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from clipaudit.config.audits import audits
from clipaudit.config.shipped import PACKAGE
from clipaudit.reports.contents import contents
from clipaudit.reports.specification import Gallery, ReportFigure, ReportTable
from clipaudit.steps import paths
from clipaudit.steps.workflow import code
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.wildcards import Paths, Wildcards


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

        # pointers of all that the enabled audits have, and the forms of it that people read
        self.table_pointers = self._results(map(paths.table, self.tables))
        names = [*self.figures, *self._galleries]
        self.figure_pointers = self._results(map(paths.figure, names))
        self.drawn_tables = self._results(map(paths.drawn_table, self.tables))
        self.drawn_figures = self._results(map(paths.drawn_figure, self.figures))
        # what no table reads, but the catalog shall have
        self.unread_pointers = self._results(unread)

    def galleries(self, audit: str) -> Mapping[str, Gallery]:
        """Return the galleries of an audit that is on."""
        every = self._galleries.items()
        return {name: gallery for name, gallery in every if name.startswith(f"{audit}_")}

    # --- tables and figures -----------------------------------------------------------------------

    def computed_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the pointers that the SQL of a table, or of a figure's table, reads, by view."""
        return self.pointers(self._computed(wildcards).inputs)

    def computed_files(self, wildcards: Wildcards) -> Paths:
        """Return the files that make a table, or a figure's table: see `table_files`."""
        return table_files(self._computed(wildcards).sql, wildcards.table)

    def computed_code(self, wildcards: Wildcards) -> str:
        """Return the digest of the code that makes a table, or a figure's table."""
        return code("report_table", *self.computed_files(wildcards))

    def computed(self, name: str) -> Callable[[Wildcards], object]:
        """Return what gives a field of `ReportTable`, of a table or of a figure's table."""
        return lambda wildcards: getattr(self._computed(wildcards), name)

    def _computed(self, wildcards: Wildcards) -> ReportTable:
        figure = self.figures.get(wildcards.table)
        return figure.table if figure else self.tables[wildcards.table]

    def layout(self, wildcards: Wildcards) -> Paths:
        """Return the code that says how a table looks: its entry of its audit's layouts."""
        audit = wildcards.table.partition("_")[0]
        return [f"clipaudit/{audit}/reports/layouts.py::{wildcards.table}"]

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
        """Return what gives a field of `ReportFigure`."""
        return lambda wildcards: getattr(self.figures[wildcards.figure], name)

    # --- galleries --------------------------------------------------------------------------------

    def gallery_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the pointers that a gallery is made from, and the tars if it shows pictures."""
        gallery = self._galleries[wildcards.figure]
        pointers = self.pointers(gallery.inputs)
        tars = self.corpora.tars(gallery.shown)
        return {**pointers, "tars": tars} if tars else pointers

    def gallery(self, name: str) -> Callable[[Wildcards], object]:
        """Return what gives a field of `Gallery`, as plain data."""
        return lambda wildcards: asdict(self._galleries[wildcards.figure])[name]

    def pointers(self, inputs: Mapping[str, Sequence[str]]) -> dict[str, Paths]:
        """Return pointers, relative to results/, as the rules name them."""
        return {view: self._results(named) for view, named in inputs.items()}

    def _results(self, named: Iterable[str]) -> Paths:
        return [self.corpora.result(path) for path in named]


def audit_files(*names: str) -> Paths:
    """Return some files of every audit's reports: code that is imported by name, and its data."""
    return [f"clipaudit/{audit.name}/reports/{name}" for audit in audits() for name in names]


CATALOG_FILES = audit_files("samples.py", "columns.tsv")
REPORT_FILES = [*CATALOG_FILES, *audit_files("contents.py", "layouts.py")]


def table_files(sql: str, table: str) -> Paths:
    """Return what makes a table beside code that is imported, each as `clipaudit/...`.

    Its SQL, the columns of views that may be empty, and its published values where its paper has
    some.
    """
    audit = sql.partition("_")[0]
    published = Path("clipaudit", audit, "reports", "published", f"{table}.csv")
    files = [Path(sql_file(sql)), Path(sql_file(f"{audit}_empty_views")), published]
    return [str(path) for path in files if (PACKAGE.parent / path).exists()]


def sql_file(name: str) -> str:
    """Return the file of a table's SQL, as `clipaudit/...`."""
    return f"clipaudit/{name.partition('_')[0]}/reports/sql/{name}.sql"
