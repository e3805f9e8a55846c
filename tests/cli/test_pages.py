from pathlib import Path

import pytest

from clipaudit.cli.commands import commands
from clipaudit.cli.pages import PAGES, help_block

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", commands.commands)
def test_every_command_has_a_page_with_its_help(name):
    page = (ROOT / PAGES / f"{name}.md").read_text()

    assert page.startswith(f"# clipaudit {name}\n")
    assert help_block(commands.commands[name]) in page, "run: python -m clipaudit.cli.pages"


def test_no_page_belongs_to_a_removed_command():
    pages = {path.stem for path in (ROOT / PAGES).glob("*.md")}

    assert pages == set(commands.commands)
