"""docs/stage.py prepares the pages for the builder."""

import runpy
import tomllib

import pytest
from builtsite import ROOT, staged


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return staged(tmp_path_factory.mktemp("docs"))


def test_every_page_is_in_the_navigation_once(folder):
    nav = tomllib.loads((folder / "zensical.toml").read_text())["project"]["nav"]

    pages = {str(path.relative_to(folder / "pages")) for path in folder.rglob("pages/**/*.md")}
    assert sorted(named(nav)) == sorted(pages)


def named(nav):
    """The pages that an entry of the navigation leads to."""
    if isinstance(nav, str):
        return [nav]
    inner = nav.values() if isinstance(nav, dict) else nav
    return [page for each in inner for page in named(each)]


def test_links_point_to_the_pages_of_the_site(folder):
    first = (folder / "pages/index.md").read_text()
    changes = (folder / "pages/changelog.md").read_text()

    assert "](tutorial.md)" in first
    assert "](imports.md#mmc4)" in changes
    assert "](docs/" not in first + changes


def test_a_file_named_by_a_page_is_copied(folder):
    assert "](files/config/clipart.yaml)" in (folder / "pages/clipart.md").read_text()
    assert "corpora:" in (folder / "pages/files/config/clipart.yaml").read_text()
    assert (folder / "pages/pictures/clipart_copies.png").stat().st_size > 10_000


def test_a_block_that_is_a_file_shows_its_name(folder):
    assert '```python title="make_data.py"' in (folder / "pages/quickstart.md").read_text()


def test_a_notebook_becomes_a_page_of_its_text_and_code(folder):
    page = (folder / "pages/notebooks/clipart.md").read_text()

    assert page.startswith("# Audit clip art in a notebook\n")
    assert "```python\nfound = clipaudit.nearest(test_vectors, train_vectors, k=3)\n" in page
    assert "](../concepts/gap.md)" in page
    assert "# %%" not in page


@pytest.mark.parametrize(
    ("page", "deeper"),
    [
        (
            "- one\n  goes on\n\n  | a |\n\nEnd\n    code\n",
            "- one\n    goes on\n\n    | a |\n\nEnd\n    code\n",
        ),
        ("1. one\n   more\n", "1. one\n    more\n"),
        ("* a\n  - b\n\n      code\n", "* a\n    - b\n\n        code\n"),
        ("```yaml\n- a\n  b\n```\n", "```yaml\n- a\n  b\n```\n"),
    ],
)
def test_content_of_a_list_item_is_indented_for_the_builder(page, deeper):
    assert runpy.run_path(ROOT / "docs/stage.py")["deepened"](page) == deeper
