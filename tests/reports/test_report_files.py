from pathlib import Path
from types import SimpleNamespace

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.reports.wiring import REPORT_FILES, ReportFiles
from clipaudit.steps.codedigest import SCRIPTS, code_parts
from clipaudit.wiring.corpora import CorpusFiles

ROOT = Path(__file__).parents[2]


@pytest.fixture
def files():
    return ReportFiles(CorpusFiles(parse_settings(read_settings(ROOT / "config/demo.yaml"))))


def test_every_table_and_figure_has_sql_that_is_there(files):
    for name in files.tables:
        assert (ROOT / files.table_files(SimpleNamespace(table=name))[0]).exists()
    for name in files.figures:
        assert (ROOT / files.figure_files(SimpleNamespace(figure=name))[0]).exists()


def test_published_values_stand_beside_the_sql_where_there_are_some(files):
    found = {name: files.table_files(SimpleNamespace(table=name)) for name in files.tables}

    with_values = {
        name for name, read in found.items() if any("/published/" in path for path in read)
    }
    assert "similarity_table1" in with_values
    assert "similarity_gap_check" in found.keys() - with_values


@pytest.mark.parametrize("audit", ["similarity", "memorization", "parrot"])
@pytest.mark.parametrize("module", ["answer", "contents", "layouts", "samples"])
def test_what_the_report_imports_by_name_counts_as_its_code(audit, module):
    parts = code_parts(SCRIPTS / "report.py", [Path(file) for file in REPORT_FILES])

    assert f"module clipaudit.{audit}.reports.{module}" in parts


def test_a_gallery_reads_the_tars_of_the_pictures_that_it_shows(files):
    name, gallery = next(iter(files.galleries("similarity").items()))

    inputs = files.gallery_inputs(SimpleNamespace(figure=name))

    assert inputs["tars"] == files.corpora.tars(gallery.shown)


def test_the_names_of_all_figures_differ(files):
    pointers = files.figure_pointers()

    assert len(set(pointers)) == len(pointers)
    galleries = [files.galleries(audit.name) for audit, _ in files.run.audits()]
    assert len(pointers) == sum(map(len, [files.figures, *galleries]))
