"""Which files and settings belong to the jobs that make tables, figures and the report."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from clipaudit.reports.figures import ReportFigure
from clipaudit.reports.memorization import memorization_tables
from clipaudit.reports.memorization_figures import memorization_figures
from clipaudit.reports.memorization_galleries import memorization_galleries
from clipaudit.reports.parrot_curated import curated_tables
from clipaudit.reports.parrot_galleries import parrot_galleries
from clipaudit.reports.parrot_inspected_figures import inspected_figures
from clipaudit.reports.parrot_probe_figures import probe_figures
from clipaudit.reports.parrot_profile import profile_tables
from clipaudit.reports.parrot_tasks import suite_tasks, task_result_table
from clipaudit.reports.similarity import similarity_tables
from clipaudit.reports.similarity_figures import similarity_figures
from clipaudit.reports.similarity_galleries import similarity_galleries
from clipaudit.reports.specification import Gallery, Relation, ReportTable
from clipaudit.steps import paths
from clipaudit.steps.workflow import code
from clipaudit.wiring.corpora import CorpusFiles
from clipaudit.wiring.wildcards import Paths, Wildcards

SQL = "clipaudit/reports/sql"
PUBLISHED = "clipaudit/reports/published"


class ReportFiles:
    """The tables, figures and galleries that some settings ask for, by the wildcards of rules.

    `tables`, `figures` and the three kinds of galleries are what is asked for, by name.
    """

    def __init__(self, corpora: CorpusFiles) -> None:
        """Ask every audit what it reports."""
        self.corpora, self.run = corpora, corpora.run
        self.tables = {
            **similarity_tables(self.run),
            **memorization_tables(self.run),
            **profile_tables(self.run),
            **curated_tables(self.run),
        }
        self.figures = {
            **similarity_figures(self.run),
            **memorization_figures(self.run),
            **inspected_figures(self.run),
            **probe_figures(self.run),
        }
        self.galleries = similarity_galleries(self.run)
        self.memorized = memorization_galleries(self.run)
        self.spotted = parrot_galleries(self.run)
        self._every_gallery = {**self.galleries, **self.memorized, **self.spotted}
        self.suite = suite_tasks(self.run)

    # --- what is asked for ------------------------------------------------------------------------

    def table_pointers(self) -> Paths:
        """Return the pointers of all tables of the enabled audits."""
        return [self.corpora.result(paths.table(name)) for name in self.tables]

    def figure_pointers(self) -> Paths:
        """Return the pointers of all figures of the enabled audits."""
        names = [*self.figures, *self._every_gallery]
        return [self.corpora.result(paths.figure(name)) for name in names]

    def placed_pointers(self) -> Paths:
        """Return the clusters of the pictures: no table reads them, the catalog shall have them."""
        audit = self.run.parrot
        if audit is None:
            return []
        return self.corpora.by_part_of_each(f"placed/{audit.encoder}", audit.corpora)

    # --- tables -----------------------------------------------------------------------------------

    def table_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the pointers that a table's SQL reads, by view name."""
        return self._pointers(self._table(wildcards).inputs)

    def table_files(self, wildcards: Wildcards) -> Paths:
        """Return the SQL of a table, and its published values where its paper has some."""
        published = f"{PUBLISHED}/{wildcards.table}.csv"
        files = [sql_file(self._table(wildcards).sql), published]
        return [path for path in files if Path(path).exists()]

    def table_code(self, wildcards: Wildcards) -> str:
        """Return the digest of the code that makes a table."""
        return code("report_table", *self.table_files(wildcards))

    def table_sql(self, wildcards: Wildcards) -> str:
        """Return the name of a table's SQL."""
        return self._table(wildcards).sql

    def table_relations(self, wildcards: Wildcards) -> Mapping[str, Relation]:
        """Return the small relations that a table takes from the settings."""
        return self._table(wildcards).relations

    def table_parameters(self, wildcards: Wildcards) -> Mapping[str, object]:
        """Return the parameters of a table's SQL."""
        return self._table(wildcards).parameters

    def table_notes(self, wildcards: Wildcards) -> Sequence[str]:
        """Return the sentences below a table's caption."""
        return self._table(wildcards).notes

    def _table(self, wildcards: Wildcards) -> ReportTable:
        return self.tables[wildcards.table]

    # --- figures ----------------------------------------------------------------------------------

    def figure_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the pointers that the SQL of a figure's table reads, by view name."""
        return self._pointers(self._figure(wildcards).table.inputs)

    def figure_files(self, wildcards: Wildcards) -> Paths:
        """Return the SQL of a figure's table."""
        return [sql_file(self.figure_sql(wildcards))]

    def figure_code(self, wildcards: Wildcards) -> str:
        """Return the digest of the code that makes a figure."""
        return code("report_figure", *self.figure_files(wildcards))

    def figure_sql(self, wildcards: Wildcards) -> str:
        """Return the name of the SQL of a figure's table."""
        return self._figure(wildcards).table.sql

    def figure_relations(self, wildcards: Wildcards) -> Mapping[str, Relation]:
        """Return the small relations that a figure's table takes from the settings."""
        return self._figure(wildcards).table.relations

    def figure_parameters(self, wildcards: Wildcards) -> Mapping[str, object]:
        """Return the parameters of the SQL of a figure's table."""
        return self._figure(wildcards).table.parameters

    def figure_form(self, wildcards: Wildcards) -> str:
        """Return the name of the form that a figure is drawn in."""
        return self._figure(wildcards).draw

    def figure_options(self, wildcards: Wildcards) -> Mapping[str, object]:
        """Return what a form is told of a figure."""
        return self._figure(wildcards).options

    def figure_caption(self, wildcards: Wildcards) -> str:
        """Return the caption of a figure."""
        return self._figure(wildcards).caption

    def _figure(self, wildcards: Wildcards) -> ReportFigure:
        return self.figures[wildcards.figure]

    # --- galleries --------------------------------------------------------------------------------

    def gallery_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return the pointers that a gallery is made from, and the tars if it shows pictures."""
        gallery = self._gallery(wildcards)
        pointers = self._pointers(gallery.inputs)
        tars = self.corpora.tars(gallery.shown)
        return {**pointers, "tars": tars} if tars else pointers

    def gallery_settings(self, wildcards: Wildcards) -> Mapping[str, object]:
        """Return what picking and drawing need to know of a gallery."""
        return self._gallery(wildcards).settings

    def gallery_caption(self, wildcards: Wildcards) -> str:
        """Return the caption of a gallery."""
        return self._gallery(wildcards).caption

    def gallery_font(self) -> Paths:
        """Return the font that texts are shown in, if the settings bring one."""
        audit = self.run.parrot
        return self.corpora.brought(audit.probe.font) if audit else []

    def _gallery(self, wildcards: Wildcards) -> Gallery:
        return self._every_gallery[wildcards.figure]

    # --- tasks of models --------------------------------------------------------------------------

    def suite_task(self, wildcards: Wildcards) -> str:
        """Return the name of a task of the suite, as its list has it."""
        return self.suite[wildcards.suite_task].task

    def suite_folder(self, wildcards: Wildcards) -> str:
        """Return the folder of a task of the suite."""
        return self.suite[wildcards.suite_task].folder

    def suite_files(self, wildcards: Wildcards) -> Paths:
        """Return the files in the folder of a task of the suite and below."""
        below = Path(self.suite_folder(wildcards)).rglob("*")
        return sorted(str(path) for path in below if path.is_file())

    def task_result_inputs(self, wildcards: Wildcards) -> dict[str, Paths]:
        """Return what the numbers of a model's tasks are made from, by view name."""
        return self._pointers(task_result_table(self.run, wildcards.encoder).inputs)

    def task_result_relations(self, wildcards: Wildcards) -> Mapping[str, Relation]:
        """Return the tasks that a model's numbers are of."""
        return task_result_table(self.run, wildcards.encoder).relations

    def _pointers(self, inputs: Mapping[str, Sequence[str]]) -> dict[str, Paths]:
        return {
            view: [self.corpora.result(path) for path in named] for view, named in inputs.items()
        }


def sql_file(name: str) -> str:
    """Return the file of a table's SQL, from the project's folder."""
    return f"{SQL}/{name}.sql"
