from pathlib import Path

import pytest

from clipaudit.config.audits import audits
from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.config.usage import unused_corpora, unused_line

CONFIG = Path(__file__).parents[2] / "config"
OFF = "similarity: null"  # an audit of the extended settings, so that its corpora have no use
WHOLE = [path for path in sorted(CONFIG.glob("*.yaml")) if OFF not in path.read_text()]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_example_settings_use_all_of_their_corpora(path, monkeypatch):
    monkeypatch.chdir(CONFIG.parent)

    assert unused_corpora(parse_settings(read_settings(path))) == []


def test_a_corpus_that_no_audit_names_is_unused():
    web = {"train": "web", "test_sets": ["some"]}
    corpora = {name: {"shards": f"{name}.tar"} for name in ("web", "v2", "v3")}
    split = {"of": "v2", "where": "true", "captions": "none"}

    run = parse_settings({"corpora": {**corpora, "some": split}, "copies": web})

    assert unused_corpora(run) == ["v3"]


def test_every_corpus_is_unused_without_an_audit():
    assert unused_corpora(parse_settings({"corpora": {"web": {"shards": "a.tar"}}})) == ["web"]


def test_the_line_names_settings_that_each_audit_has():
    line = unused_line(["web", "v2"])

    assert line.startswith("No audit uses corpora.web, corpora.v2 yet. To use one, name it in")
    for audit in audits():
        assert audit.takes
        assert set(audit.takes) <= set(audit.section.model_fields)
