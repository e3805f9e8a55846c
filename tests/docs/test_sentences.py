"""README, quickstart and tutorial have short sentences."""

import re

import pytest
from pagecommands import ROOT

MOST = {  # words
    "README.md": 35,
    "docs/quickstart.md": 35,
    "docs/tutorial.md": 35,
    "CONTRIBUTING.md": 24,
}
NO_PROSE = re.compile(r"```.*?```|^ {4}.*?$|^[|#!].*?$", re.DOTALL | re.MULTILINE)


def sentences(text):
    """Return the sentences of a page, without blocks, tables, headings and images."""
    prose = re.sub(r"\]\([^)]*\)", "]", NO_PROSE.sub("", text))
    return [each.split() for each in re.split(r"(?<=[.!?:])\s|\n\s*\n|\n- ", prose)]


@pytest.mark.parametrize("page", MOST)
def test_no_sentence_is_too_long(page):
    found = sentences((ROOT / page).read_text())

    assert len(found) > 10
    assert [" ".join(each) for each in found if len(each) > MOST[page]] == []
