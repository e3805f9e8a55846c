from pathlib import Path

import pytest

from clipaudit.config.loading import parse_settings, read_settings
from clipaudit.wiring.corpora import CorpusFiles

CONFIG = Path(__file__).parents[2] / "config"


@pytest.fixture
def corpora():
    """Return a function: the files of a shipped config with some corpora added or changed."""

    def build(config="micro", *, without_data=False, label_sets=None, **changed):
        settings = read_settings(CONFIG / f"{config}.yaml")
        settings |= {"without_data": without_data}
        settings["label_sets"] |= label_sets or {}
        for name, corpus in changed.items():
            settings["corpora"][name] = settings["corpora"].get(name, {}) | corpus
        return CorpusFiles(parse_settings(settings))

    return build
