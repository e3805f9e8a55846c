"""Links and file names in README, in docs/ and in the pages at the top."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "config/README.md",
        *ROOT.glob("docs/notebooks/*.py"),
    ]
)
KINDS = "|".join(["py", "md", "yaml", "smk", "json", "sql", "tsv", "lock", "png", "svg", "toml"])
FOLDERS = "benchmarks|clipaudit|config|docs|envs|profiles|rules|tests|workflow_scripts"
NAMED = re.compile(rf"(?<![\w/.-])(?:{FOLDERS})/[\w/.-]*\w\.(?:{KINDS})(?![\w/])")
PLACES = [ROOT, ROOT / "clipaudit", ROOT / "tests"]  # pages name some modules by these roots


def without_code(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^(    .*|<!--.*-->)$", "", text, flags=re.MULTILINE)


@cache
def anchors(page):
    """Return the anchors of a page's headings, as git hosts make them; a repeated one gets -1."""
    heads = re.findall(r"^#+ (.*)$", without_code(page), re.MULTILINE)
    slugs = [re.sub(r"[^\w -]", "", head).strip().replace(" ", "-").lower() for head in heads]
    return {
        slug + (f"-{before}" if (before := slugs[:number].count(slug)) else "")
        for number, slug in enumerate(slugs)
    }


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_link_points_to_a_file_and_a_heading(page):
    broken = []
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#?([^):\s]*)\)", without_code(page)):
        to = (page.parent / target).resolve() if target else page
        if not to.exists() or (anchor and anchor not in anchors(to)):
            broken.append(f"{target}#{anchor}")

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_every_project_file_named_by_a_page_exists(page):
    named = set(NAMED.findall(page.read_text()))

    assert [name for name in named if not any((at / name).exists() for at in PLACES)] == []
