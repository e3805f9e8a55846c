"""`make docs`: the content of the built pages, and that a broken link fails the build."""

import re
from html.parser import HTMLParser

import pytest
from builtsite import built, needs_builder, staged

pytestmark = needs_builder

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
ELSEWHERE = re.compile(r"^(https?:)?//")
ABOUT = {"canonical", "prev", "next", "alternate"}  # relations that load nothing


class Page(HTMLParser):
    """The addresses that a page loads, those that it links to, its anchors and its classes."""

    def __init__(self, text):
        super().__init__()
        self.loaded, self.links, self.anchors, self.classes = [], [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        if held.get("rel") not in ABOUT:
            self.loaded += [held[name] for name in [LOADED.get(tag)] if name and held.get(name)]
        self.links += [held["href"]] if tag == "a" and held.get("href") else []
        self.anchors |= {held[name] for name in ("id", "name") if held.get(name)}
        self.classes |= set((held.get("class") or "").split())


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = staged(tmp_path_factory.mktemp("docs"))
    done = built(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def read(site):
    return {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}


def test_no_page_loads_external_content(site, read):
    loaded = {address for page in read.values() for address in page.loaded}
    styles = [path.read_text() for path in site.rglob("*.css")]

    assert "assets/" in " ".join(loaded)
    assert [address for address in loaded if ELSEWHERE.match(address)] == []
    assert [style for style in styles if re.search(r"(url\(|@import)\W*(https?:)?//", style)] == []


def test_no_page_needs_a_library_that_the_builder_loads(read):
    fetched = {"mermaid", "pyodide", "arithmatex", "glightbox"}

    assert {name for page in read.values() for name in page.classes & fetched} == set()


def test_every_link_of_the_site_points_to_a_file_and_an_anchor(site, read):
    broken = []
    for path, page in read.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"\w+:", link) or path.name == "404.html":
                continue
            to = (path.parent / target).resolve() if target else path
            to = to / "index.html" if to.is_dir() else to
            if not to.exists() or (anchor and to in read and anchor not in read[to].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")

    assert broken == []


def test_tables_and_code_are_rendered(site):
    page = (site / "quickstart.html").read_text()

    assert "<table>" in page
    assert "make_data.py" in page
    assert 'class="highlight"' in page or "highlight" in Page(page).classes
    assert "```" not in page


def test_a_broken_link_fails_the_build(tmp_path):
    folder = staged(tmp_path / "docs")
    page = folder / "pages/report.md"
    page.write_text(page.read_text() + "\n[Gone](no_such_page.md)\n")

    done = built(folder)

    assert done.returncode != 0
    assert "page does not exist" in done.stdout + done.stderr
