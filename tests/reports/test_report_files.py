from pathlib import Path
from types import SimpleNamespace as named

import pytest

from clipaudit.config.audits import audits, said_by
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.reports.wiring import ReportFiles, site_files
from clipaudit.steps.codedigest import code_parts, rule_sources
from clipaudit.wiring.corpora import CorpusFiles

ROOT = Path(__file__).parents[2]


@pytest.fixture
def files():
    return ReportFiles(CorpusFiles(parse_settings(read_settings(ROOT / "config/demo.yaml"))))


def test_every_table_and_figure_has_an_existing_sql_file(files):
    for name in files.tables:
        assert (ROOT / files.computed_files(named(table=name))[0]).exists()
    for name in files.figures:
        assert (ROOT / files.computed_files(named(table=name))[0]).exists()


def test_published_values_are_next_to_the_sql_if_they_exist(files):
    found = {name: files.computed_files(named(table=name)) for name in files.tables}

    with_values = {
        name for name, read in found.items() if any("/published/" in path for path in read)
    }
    assert "similarity_table1" in with_values
    assert "similarity_gap_check" in found.keys() - with_values


@pytest.mark.parametrize("audit", ["similarity", "memorization", "parrot"])
@pytest.mark.parametrize("module", ["answer", "contents", "layouts", "samples"])
def test_modules_imported_by_name_count_as_code_of_the_report(audit, module):
    parts = code_parts(*rule_sources("report", site_files(audits())))

    assert f"module clipaudit.{audit}.reports.{module}" in parts


def test_every_table_has_a_layout_of_its_own(files):
    drawn = {path for name in files.tables for path in files.layout(named(table=name))}

    entries = {
        f"clipaudit/{audit.name}/reports/layouts.py::{name}"
        for audit in audits()
        for name in said_by(audit, "reports.layouts", "LAYOUTS")
    }
    assert drawn <= entries


def test_only_the_code_that_renders_a_table_includes_its_layout(files):
    table = named(table="similarity_table1")

    made = code_parts(*rule_sources("report_table", files.computed_files(table)))
    drawn = code_parts(*rule_sources("draw_table", files.layout(table)))

    assert not [part for part in made if "layout" in part or "rendering" in part]
    assert "module clipaudit.similarity.reports.layouts::similarity_table1" in drawn
    assert not [part for part in drawn if ".sql" in part]


def test_the_code_of_a_drawn_figure_includes_only_its_own_form(files):
    figure = named(figure="similarity_fig3")

    drawn = code_parts(*rule_sources("draw_figure", files.form_files(figure)))

    assert [part for part in drawn if ".forms." in part] == [
        "module clipaudit.reports.forms.curves"
    ]


def test_a_gallery_reads_the_tars_of_the_images_it_shows(files):
    name, gallery = next(iter(files.galleries("similarity").items()))

    inputs = files.gallery_inputs(named(figure=name))

    assert inputs["tars"] == files.corpora.tars(gallery.shown)


def test_the_names_of_all_figures_differ(files):
    pointers = files.figure_pointers

    assert len(set(pointers)) == len(pointers)
    galleries = [files.galleries(audit.name) for audit, _ in files.run.audits()]
    assert len(pointers) == sum(map(len, [files.figures, *galleries]))
