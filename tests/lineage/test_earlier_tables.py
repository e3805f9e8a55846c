import pytest
from handmadecatalog import whole_run_made
from tworuns import two_runs

from clipaudit.lineage.earlier_tables import earlier, earlier_note


@pytest.fixture
def run(tmp_path):
    run, _ = two_runs(tmp_path)
    run.act("tables/t.json")
    whole_run_made(run.results, "t")
    return run


def asked(run):
    return earlier(run.results, run.run().tables())


def test_tables_of_the_last_whole_run_are_not_named(run):
    assert asked(run) == []


def test_a_table_that_the_catalog_lacks_is_named(run):
    run.act("tables/before.json")

    assert asked(run) == ["before"]


def test_a_table_that_was_made_again_since_is_not_of_earlier_settings(run):
    run.act("tables/t.json", settings={"k": 2})

    assert asked(run) == []


def test_a_figure_without_a_page_in_the_report_is_named(run):
    run.act("figures/f.json")
    assert asked(run) == []  # no report was made

    (run.results / "report/figures").mkdir(parents=True)
    assert asked(run) == ["f"]

    (run.results / "report/figures/f.html").touch()
    assert asked(run) == []


def test_without_a_catalog_nothing_is_known(run):
    (run.results / "audit.duckdb").unlink()
    run.act("tables/before.json")

    assert asked(run) == []


def test_files_that_are_no_report_tables_are_ignored(run):
    assert earlier(run.results, ["scores/large.json"]) == []


def test_names_cannot_inject_terminal_escapes():
    assert "\x1b" not in earlier_note(["\x1b[31m"])
