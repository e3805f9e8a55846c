"""docs/settings.md: generated, complete, and with examples from the files."""

import re
from pathlib import Path

import pytest
import yaml

from clipaudit.config.reference import example, settings_page
from clipaudit.config.settings import whole_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/settings.md").read_text()
SCHEMA = whole_settings(()).model_json_schema()


def test_the_page_matches_the_models():
    assert settings_page() == PAGE, "run: python -m clipaudit.cli.pages"


@pytest.mark.parametrize("model", ["", *SCHEMA["$defs"]])
def test_every_setting_has_a_row_with_its_meaning(model):
    section = SCHEMA["$defs"][model] if model else SCHEMA
    rows = re.findall(r"^\| `(\w+)` \| .+ \| .+ \| \S.* \|$", PAGE, re.MULTILINE)
    headed = set(re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)) if not model else set()

    missing = section["properties"].keys() - set(rows) - headed

    assert missing == set()


@pytest.mark.parametrize("section", re.findall(r"^## (\w+)$", PAGE, re.MULTILINE))
def test_an_example_is_text_of_its_file_and_valid_alone(section):
    for file, text in example(section):
        lines = (ROOT / "config" / file).read_text().splitlines()
        assert all(line in lines for line in text.splitlines())
        assert list(yaml.safe_load(text)) == [section]
        assert f"From `config/{file}`:\n\n```yaml\n{text}```" in PAGE


def test_an_example_of_named_entries_shows_one_entry():
    ((_, text),) = example("corpora")

    assert len(yaml.safe_load(text)["corpora"]) == 1
