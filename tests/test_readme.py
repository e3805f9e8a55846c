"""What README and CONTRIBUTING say exists."""

import re
from pathlib import Path

import pytest

from clipaudit.cli.commands import commands

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BOTH = README + (ROOT / "CONTRIBUTING.md").read_text()


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"(?:^    |`)make ([a-z0-9-]+)", BOTH, re.M)))
)
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^):]+)\)", README))))
def test_every_link_leads_to_a_file(link):
    assert (ROOT / link).exists()


@pytest.mark.parametrize("command", sorted(set(re.findall(r"clipaudit ([a-z]+) [\"<r]", README))))
def test_every_command_exists(command):
    assert command in commands.commands


def test_it_is_short():
    prose = re.sub(r"^    .*$", "", README, flags=re.MULTILINE)

    assert len(prose.split()) < 600
