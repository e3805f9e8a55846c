"""The catalogs of the micro worlds: every view that the audits make."""

import re
from pathlib import Path

import pytest

from clipaudit.catalog.samples.fate import sample_fate
from clipaudit.catalog.samples.page import read_picture
from clipaudit.catalog.views import open_catalog

QUESTIONS = Path(__file__).parents[2] / "docs" / "questions.md"
WORLDS = (
    "copied",
    "finished",
    "remembered",
    pytest.param("parroted_whole", marks=pytest.mark.slow),
)

pytestmark = pytest.mark.timeout(1_200)


@pytest.fixture(params=WORLDS)
def project(request):
    return request.getfixturevalue(request.param)


def ask(project, query):
    with open_catalog(project.results) as connection:
        return connection.execute(query).fetchall()


def test_every_view_and_column_has_a_comment(project):
    """A new column needs a line in clipaudit/catalog/columns.tsv, or a comment in its SQL."""
    columns = ask(
        project,
        "select table_name || '.' || column_name from duckdb_columns() "
        "where not internal and comment is null",
    )
    views = ask(
        project, "select view_name from duckdb_views() where not internal and comment is null"
    )

    assert columns == views == []


def test_audit_has_the_rows_of_samples(project):
    rows = "select corpus, shard, row from {} where corpus is not null order by all"

    assert ask(project, rows.format("audit")) == ask(project, rows.format("samples"))


@pytest.mark.slow
def test_the_audit_that_ran_has_results(request):
    said = {"finished": "gap_testset", "remembered": "recall_gap", "parroted_whole": "rsa"}

    for world, column in said.items():
        found = ask(request.getfixturevalue(world), f"select count({column}) from audit")
        assert found[0][0] > 0, column


@pytest.mark.parametrize("query", re.findall(r"```sql\n(.*?)```", QUESTIONS.read_text(), re.S))
def test_every_question_of_the_docs_is_a_valid_query(project, query):
    assert isinstance(ask(project, query), list)  # InputError for an invalid query


def test_every_corpus_has_a_sample_whose_fate_is_known(project):
    first = (
        "select corpus, min(shard || ':' || row) from samples "
        "where corpus is not null group by corpus"
    )

    with open_catalog(project.results) as connection:
        for corpus, place in connection.execute(first).fetchall():
            fate = sample_fate(connection, corpus, place)
            assert fate["sample"]["corpus"] == corpus


def test_an_image_comes_from_the_shard_that_was_indexed(finished, monkeypatch):
    monkeypatch.chdir(finished.folder)
    with open_catalog(finished.results) as connection:
        (place,) = connection.execute(
            "select min(shard || ':' || row) from samples where corpus = 'large'"
        ).fetchall()[0]
        fate = sample_fate(connection, "large", place)

    assert len(read_picture(fate["sample"], None)) == fate["sample"]["image_bytes"]
