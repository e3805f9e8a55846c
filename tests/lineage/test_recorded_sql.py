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


def test_the_text_is_that_of_the_day(run):
    run.write_sql("probe", "select n + 1 as n from numbers")

    assert (sql(run).text, sql(run).origin) == (SQL, RECORDED)
    assert not sql(run).is_installed


def test_comments_and_spacing_make_no_other_sql(run):
    run.write_sql("probe", "select n\nfrom numbers")

    assert sql(run).is_installed


def test_an_sql_that_is_gone_is_still_reported(run):
    (run.folder / "sql/probe.sql").unlink()

    assert sql(run).text == SQL
    assert not sql(run).is_installed


def test_what_was_not_recorded_is_taken_from_the_package_and_said_so(run):
    shutil.rmtree(run.store.root / "lineage" / "code")

    assert (sql(run).text, sql(run).origin) == (SQL, NOT_RECORDED)


def test_an_unknown_digest_has_no_file(run):
    shutil.rmtree(run.store.root / "lineage" / "code")
    (run.folder / "sql/probe.sql").unlink()

    assert sql(run) is None


def test_a_table_that_no_sql_made_has_none(run):
    assert sql(run, "n.json") is None
