"""README and CONTRIBUTING name existing targets, files and results."""

import re
from pathlib import Path

import pytest

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
    assert (ROOT / link.partition("#")[0]).exists()


def test_the_readme_is_short():
    prose = re.sub(r"^    .*$", "", README, flags=re.MULTILINE)

    assert len(prose.split()) < 600


def test_the_report_is_where_the_quickstart_shows_that_an_audit_writes_it():
    named = set(re.findall(r"`(audit/\S+\.html)`", README))
    shown = set(re.findall(r"Report: (audit/\S+\.html)", (ROOT / "docs/quickstart.md").read_text()))

    assert named == shown


def intervals(text):
    """Return the intervals of a text without signs, because a loss is a negative change."""
    found = re.findall(r"\[\W?([\d.]+), \W?([\d.]+)\]", text)
    return {tuple(sorted(each)) for each in found}


def test_every_interval_is_on_a_page_that_describes_its_measurement():
    measured = intervals(
        "".join((ROOT / f"docs/{n}.md").read_text() for n in ("evidence", "clipart"))
    )

    assert intervals(README)
    assert intervals(README) <= measured
