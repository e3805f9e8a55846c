"""Which tables and figures the settings ask for, and the files that each is made from."""

from clipaudit.reports.memorization import memorization_tables
from clipaudit.reports.memorization_figures import memorization_figures
from clipaudit.reports.memorization_galleries import memorization_galleries
from clipaudit.reports.parrot_curated import curated_tables
from clipaudit.reports.parrot_galleries import parrot_galleries
from clipaudit.reports.parrot_inspected_figures import inspected_figures
from clipaudit.reports.parrot_probe_figures import probe_figures
from clipaudit.reports.parrot_profile import profile_tables
from clipaudit.reports.similarity import similarity_tables
from clipaudit.reports.similarity_figures import similarity_figures
from clipaudit.reports.similarity_galleries import similarity_galleries

TABLES = {
    **similarity_tables(RUN),
    **memorization_tables(RUN),
    **profile_tables(RUN),
    **curated_tables(RUN),
}
FIGURES = {
    **similarity_figures(RUN),
    **memorization_figures(RUN),
    **inspected_figures(RUN),
    **probe_figures(RUN),
}
GALLERIES = similarity_galleries(RUN)
MEMORIZED = memorization_galleries(RUN)
SPOTTED = parrot_galleries(RUN)


def table_pointers():
    """The pointers of all tables of the enabled audits."""
    return [f"{RESULTS}/tables/{table}.json" for table in TABLES]


def figure_pointers():
    """The pointers of all figures of the enabled audits."""
    return [
        f"{RESULTS}/figures/{figure}.json"
        for figure in [*FIGURES, *GALLERIES, *MEMORIZED, *SPOTTED]
    ]


def placed_pointers():
    """The clusters of the pictures that the parrot audit reads: no table does, the catalog shall."""
    return [
        f"{RESULTS}/placed/{PARROT.encoder}/{corpus}/{part}.json"
        for corpus in (PARROT.corpora if PARROT else [])
        for part in RUN.parts(corpus)
    ]


def view_files(table):
    """The pointers that the SQL of a table reads, by view name."""
    return {
        view: [f"{RESULTS}/{path}" for path in paths]
        for view, paths in table.inputs.items()
    }


def table_inputs(wildcards):
    """The pointers that a table's SQL reads, by view name."""
    return view_files(TABLES[wildcards.table])


def sql_file(table):
    """The SQL of a table."""
    return f"clipaudit/reports/sql/{table.sql}.sql"


def table_files(wildcards):
    """The SQL of a report table, and the published values of it where its paper has some."""
    published = f"clipaudit/reports/published/{wildcards.table}.csv"
    files = [sql_file(TABLES[wildcards.table]), published]
    return [path for path in files if Path(path).exists()]


def figure_inputs(wildcards):
    """The pointers that the SQL of a figure's table reads, by view name."""
    return view_files(FIGURES[wildcards.figure].table)


def figure_files(wildcards):
    """The SQL of a figure's table."""
    return [sql_file(FIGURES[wildcards.figure].table)]


def gallery_inputs(wildcards):
    """The pointers that a gallery is made from, and the tars if it shows pictures."""
    gallery = {**GALLERIES, **MEMORIZED, **SPOTTED}[wildcards.figure]
    pointers = {
        name: [f"{RESULTS}/{path}" for path in paths]
        for name, paths in gallery.inputs.items()
    }
    tars = corpora_tars(each["corpus"] for each in gallery.settings["tars"])
    return {**pointers, "tars": tars} if tars else pointers
