import os

import pytest
from handmaderun import HandmadeRun

from clipaudit.errors import InputError, StoreError
from clipaudit.lineage.why.named_tables import find_table


@pytest.fixture
def run(tmp_path, monkeypatch):
    run = HandmadeRun(tmp_path, monkeypatch)
    run.act("report_table", {"tables/similarity_table1.json": ({}, [{"x": 1}])})
    run.act("report_figure", {"figures/parrot_fig7.json": ({}, [{"x": 2}])})
    return run


def path(run, name):
    return find_table(run.results, run.store, name).path


@pytest.mark.parametrize("form", ["json", "parquet", "csv", "md", "csv.json", "svg"])
def test_any_form_of_a_table_means_the_table(run, form):
    expected = run.results / "tables/similarity_table1.json"

    assert path(run, str(run.results / f"tables/similarity_table1.{form}")) == expected
    assert path(run, f"similarity_table1.{form}") == expected


def test_figures_are_also_found_by_name(run):
    assert path(run, "parrot_fig7") == run.results / "figures/parrot_fig7.json"


def test_a_pointers_path_is_reported_below_the_given_results_folder(run, monkeypatch):
    monkeypatch.chdir(run.results)

    assert path(run, "tables/similarity_table1.md") == run.results / "tables/similarity_table1.json"


def test_an_unknown_name_is_answered_with_the_nearest(run):
    with pytest.raises(InputError, match=r"no table 'similarty_1'\. Did you mean similarity_"):
        path(run, "similarty_1")


def test_a_table_of_another_folder_is_refused(run, tmp_path):
    (tmp_path / "x.json").write_text("{}")

    with pytest.raises(InputError, match=r"x\.json: outside the results folder .* --results"):
        path(run, str(tmp_path / "x.json"))


def test_an_altered_object_is_an_error(run):
    table = find_table(run.results, run.store, "parrot_fig7")
    os.chmod(table.object, 0o644)
    table.object.write_bytes(b"altered")

    with pytest.raises(StoreError, match=r"was altered since it was written\. Run `clipaudit ver"):
        path(run, "parrot_fig7")


def test_a_missing_object_gives_no_result(run):
    table = find_table(run.results, run.store, "parrot_fig7")
    table.object.unlink()

    assert find_table(run.results, run.store, "parrot_fig7").object is None
