"""What the first page shows beside the answers."""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tinysite import HOSTILE, UIDS, TinySite

from clipaudit.catalog.samples.catalog import Address
from clipaudit.cli.options import Group
from clipaudit.cli.sql import sql
from clipaudit.config.audits import audits
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.reports.contents import contents
from clipaudit.site.cells import Grid
from clipaudit.site.content import FigureContent, TableContent
from clipaudit.site.fronts import shown_fronts, worst_columns
from clipaudit.site.samples import SamplePage, first_samples, shown_rows

DEMO = Path(__file__).parents[2] / "config" / "demo.yaml"


@pytest.fixture(scope="module")
def run():
    return parse_settings(read_settings(DEMO))


def gallery(name, *rows):
    content = TableContent(
        name, name.partition("_")[0], "", "", "", Grid((), ()), tuple(rows[0]), {},
        rows, {}, (), {},
    )  # fmt: skip
    return FigureContent(content, True, 1, 1, ("similarity", "co_words"))


def page(corpus, row):
    return SamplePage(corpus, corpus, 0, row, UIDS[0], "", (), {}, "")


def near(test_row, row, similarity):
    test = {"testset": "val", "test_shard": 0, "test_row": test_row}
    return {**test, "corpus": "large", "shard": 0, "row": row, "similarity": similarity}


def test_the_worst_pair_comes_first_with_the_text_of_its_gallery(run):
    shown = gallery("similarity_fig2", near(1, 5, 0.5), near(2, 6, 0.75))
    pages = [page("val", 1), page("large", 5), page("val", 2), page("large", 6)]

    first, second = shown_fronts(run, [shown], pages)["similarity"].examples

    assert [each.address for each in first.pages] == [Address("val", 0, 2), Address("large", 0, 6)]
    assert (first.words, second.words) == ("similarity 0.75", "similarity 0.5")


def test_the_worst_rows_of_each_gallery_get_pages_first_and_stay_together(run):
    pairs = gallery("similarity_fig2", near(1, 5, 0.5), near(2, 6, 0.75))
    others = gallery(
        "parrot_fig15", *({"corpus": "posters", "shard": 0, "row": n} for n in (3, 3, 4))
    )

    rows = shown_rows([pairs, others], worst_columns(run))

    assert [[each.row for each in row.samples] for row in rows] == [[2, 6], [3], [1, 5], [4]]


@pytest.mark.parametrize(("limit", "pages"), [(0, []), (1, []), (3, [1, 5]), (4, [1, 5, 2, 6])])
def test_a_limit_of_pages_cuts_no_pair(run, limit, pages):
    rows = shown_rows([gallery("similarity_fig2", near(1, 5, 0.5), near(2, 6, 0.4))], {})

    assert [each.row for each in first_samples(rows, run.corpora, limit)] == pages


def test_a_sample_without_a_page_is_no_example(run):
    shown = gallery("similarity_fig2", near(1, 5, 0.5))

    (found,) = shown_fronts(run, [shown], [page("val", 1)])["similarity"].examples

    assert [each.address for each in found.pages] == [Address("val", 0, 1)]


def test_text_of_a_gallery_is_sanitized(run):
    row = {"corpus": "posters", "shard": 0, "row": 1, "co_words": HOSTILE}

    (found,) = shown_fronts(run, [gallery("parrot_fig15", row)], [page("posters", 1)])[
        "parrot"
    ].examples

    assert found.words == HOSTILE.replace("\x1b", "\\x1b")


@pytest.mark.parametrize("audit", audits(), ids=lambda audit: audit.name)
def test_the_queries_suggested_on_the_first_page_have_answers(audit, run, tmp_path, monkeypatch):
    TinySite(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    steps = [shlex.split(step.command) for step in contents(audit).front(run).steps]
    queries = [command[1:] for command in steps if command[1] == "sql"]

    answers = [CliRunner().invoke(Group(commands=[sql]), command) for command in queries]

    assert answers
    assert [(answer.exit_code, answer.output) for answer in answers if answer.exit_code] == []
