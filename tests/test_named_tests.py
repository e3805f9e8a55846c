"""Every test named in docs/reliability.md and docs/security.md exists."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.parametrize("page", ["reliability", "security"])
def test_every_test_named_by_a_page_exists(page):
    text = (TESTS.parent / f"docs/{page}.md").read_text()
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)

    missing = [
        f"{path}::{name}"
        for path, name in named
        if f"\ndef {name}(" not in "\n" + (TESTS / path).read_text()
    ]

    assert named
    assert missing == []
