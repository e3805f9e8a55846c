import shutil

import pytest
from handmaderun import HandmadeRun

from clipaudit.lineage.recorded_sql import NOT_RECORDED, RECORDED, table_sql
from clipaudit.store.placements import placement
from clipaudit.store.records import read_record

SQL = "select n from numbers  -- all\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    run = HandmadeRun(tmp_path, monkeypatch)
    run.report("probe", SQL, {"numbers": run.act("count", {"n.json": ({}, [{"n": 1}])})})
    return run


def sql(run, pointer="tables/probe.json"):
    key = placement(run.results, run.results / pointer).action
    return table_sql(run.store, read_record(run.store, key))


def test_the_text_is_the_one_that_ran(run):
    run.write_sql("probe", "select n + 1 as n from numbers")

    assert (sql(run).text, sql(run).origin) == (SQL, RECORDED)
    assert not sql(run).is_installed


def test_comments_and_spacing_do_not_change_the_sql(run):
    run.write_sql("probe", "select n\nfrom numbers")

    assert sql(run).is_installed


def test_deleted_sql_is_still_reported(run):
    (run.folder / "sql/probe.sql").unlink()

    assert sql(run).text == SQL
    assert not sql(run).is_installed


def test_unrecorded_sql_is_taken_from_the_package_and_marked(run):
    shutil.rmtree(run.store.root / "lineage" / "code")

    assert (sql(run).text, sql(run).origin) == (SQL, NOT_RECORDED)


def test_an_unknown_digest_has_no_file(run):
    shutil.rmtree(run.store.root / "lineage" / "code")
    (run.folder / "sql/probe.sql").unlink()

    assert sql(run) is None


def test_a_table_not_made_by_sql_has_none(run):
    assert sql(run, "n.json") is None
