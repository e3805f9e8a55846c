"""What the search among samples is made from."""

import json

import pytest
from catalogcases import make_catalog, sample
from tinysite import HOSTILE

from clipaudit.catalog.views import open_catalog
from clipaudit.config.settings import WholeSettings
from clipaudit.site.samples import SamplePage, ShownPicture
from clipaudit.site.search_index import search_index

RUN = WholeSettings(corpora={"web": {"shards": "web.tar"}})
OWN = {"corpus": "web", "encoder": "own"}
NEAR = {"testset": "val", "test_row": 3, "gap": 0.5, "gap_test_shard": 0, "gap_test_row": 3}
CROSSED = {**NEAR, "shard": 0, "row": 2, "similarity": 0.75, "gap_similarity": 0.75}
LEFT = {"shard": 0, "row": 1, "kept": False, "reason": "duplicate"}


@pytest.fixture
def found(tmp_path):
    """A function: the index of four samples, and its content."""
    rows = [sample(0, row, caption=HOSTILE) for row in range(4)]
    results = make_catalog(
        tmp_path,
        ("samples", {"corpus": "web"}, rows),
        ("similarities", OWN, [CROSSED]),
        ("manifests", {"corpus": "web", "pruning": "deduplicated"}, [LEFT]),
    )

    def find(*pages, most=4):
        with open_catalog(results) as connection:
            index = search_index(connection, RUN, pages, most)
        assert index.script.startswith("const SAMPLES = {")
        return index, json.loads(index.script.removeprefix("const SAMPLES = ").rstrip(";\n"))

    return find


def page(row):
    picture = ShownPicture(f"samples/{row}.jpg", 8, 8)
    return SamplePage("web", "web", 0, row, "", "", (), {}, f"samples/{row}.html", picture=picture)


def test_samples_with_a_page_precede_those_an_audit_mentions(found):
    _, content = found(page(3))

    assert content["row"] == [3, 2, 0, 1]
    assert content["pages"] == [["samples/3.html", "samples/3.jpg", 8, 8]]


def test_facets_list_the_samples_that_have_an_answer(found):
    index, content = found()

    facets = {facet.title: dict(facet.answers) for facet in index.facets}
    assert facets == {
        "Audit": {"Similarity": 1},
        "Corpus": {"web": 4},
        "Kept or removed": {"removed from a set": 1},
        "Why removed": {"duplicate": 1},
        "Crosses the gap of": {"val": 1},
    }
    (why,) = (facet for facet in content["facets"] if facet["name"] == "why-removed")
    left = [row for row, of in zip(content["row"], why["of"], strict=True) if why["sets"][of]]
    assert left == [1]


def test_numbers_without_values_give_no_order(found):
    index, content = found()

    assert index.orders == ("Similarity to the nearest test image", "Excess over the gap")
    assert [each["values"][0] for each in content["orders"]] == [0.75, 0.25]


def test_more_samples_than_the_search_holds_are_counted(found):
    index, content = found(most=2)

    assert (index.samples, index.total) == (2, 4)
    assert content["row"] == [2, 0]


def test_captions_are_sanitized(found):
    index, content = found()

    assert "\x1b" not in content["caption"][0]
    assert index.script.isascii()
