"""What the report says of a run's corpora."""

import pytest
from tinysite import TinySite

from clipaudit.catalog.views import open_catalog
from clipaudit.config.settings import WholeSettings
from clipaudit.site.facts import run_facts


@pytest.fixture
def facts(tmp_path, monkeypatch):
    """A function: the facts of a run whose corpus `web` has two samples, with other corpora."""
    site = TinySite(tmp_path, monkeypatch)

    def build(**others):
        corpora = {"web": {"shards": str(site.tar)}, **others}
        with open_catalog(site.results) as connection:
            return run_facts(WholeSettings(corpora=corpora), connection, {"actions": {}})

    return build


def test_a_split_is_listed_and_not_counted_again(facts):
    found = facts(half={"of": "web", "where": "row < 1", "captions": "none", "title": "Half"})

    assert found["corpora"][1][:3] == ("Half", "half", "web")
    assert found["summary"]["Corpora"] == "1, and splits of them: 1"
    assert found["summary"]["Samples"] == "2"


def test_a_corpus_that_was_not_read_is_listed_without_a_number(facts, tmp_path):
    found = facts(other={"shards": str(tmp_path / "other.tar"), "captions": "none"})

    assert found["corpora"] == (("web", "web", "", 1, 2), ("other", "other", "", 1, None))
    assert found["summary"]["Corpora"] == "2"
