"""The map's page: positions and colours of points, its table, and its place in the menu."""

import json

import pyarrow.parquet as pq
import pytest
from catalogcases import sample
from tinysite import HOSTILE, MAP, UIDS, TinySite, mapped_site

from clipaudit.site.maps import ColourColumn

TABLE, SCRIPT = "files/map-own-web.parquet", "data/map-own-web.js"


@pytest.fixture
def site(tmp_path, monkeypatch):
    return mapped_site(tmp_path, monkeypatch)


def points(folder):
    """What the script hands to the page."""
    return json.loads((folder / SCRIPT).read_text().partition(" = ")[2].rstrip(";\n"))


def test_the_menu_links_to_the_map_and_its_page_names_the_command(site):
    folder = site.write()

    assert 'href="map.html"' in (folder / "index.html").read_text()
    page = (folder / "map.html").read_text()
    assert f'<pre tabindex="0">embedding-atlas {TABLE} --x x --y y --text caption</pre>' in page
    assert "2 images of web by own, drawn at random." in page


def test_without_a_map_no_page_links_to_one(tmp_path, monkeypatch):
    folder = TinySite(tmp_path, monkeypatch).write()

    assert not (folder / "map.html").exists()
    assert "map.html" not in (folder / "index.html").read_text()


def test_places_are_shares_of_the_longer_axis_and_centred_on_the_shorter(site):
    assert points(site.write())["places"] == [[0, 0.5], [1, 0.5]]


def test_samples_link_to_their_pages_and_control_characters_are_escaped(site):
    told = points(site.write())["samples"]

    assert [line[-1] for line in told] == [f"samples/web-0-{row}.html" for row in (0, 1)]
    assert "\x1b" not in told[0][4]
    assert "<script>" in told[0][4], "text, which the page never takes as markup"


def test_a_manifest_states_which_samples_are_kept_and_why_others_are_removed(site):
    (fate,) = [each for each in points(site.write())["colours"] if each["title"] == "pruned"]

    assert fate["names"][0] == "kept"
    assert fate["names"][fate["codes"][0]].startswith("<script>alert(1)")
    assert fate["names"][fate["codes"][1]] == "kept"


def test_the_table_matches_the_page(site):
    rows = pq.read_table(site.write() / TABLE).to_pylist()

    assert [row["uid"] for row in rows] == UIDS
    assert [row["fate_pruned"] for row in rows] == [HOSTILE, "kept"]
    assert [(row["x"], row["set"]) for row in rows] == [(0, "web"), (4, "web")]


def test_a_map_without_points_has_no_page(tmp_path, monkeypatch):
    folder = mapped_site(tmp_path, monkeypatch, points=[]).write()

    assert not (folder / "map.html").exists()


def test_a_point_of_a_test_set_belongs_to_that_corpus(tmp_path, monkeypatch):
    test = ("samples", {"corpus": "val"}, [sample(0, 0, caption=None)])
    beside = [*MAP, {"testset": "val", "shard": 0, "row": 0, "x": 2.0, "y": 3.0}]
    site = mapped_site(tmp_path, monkeypatch, test, points=beside)
    site.corpora = {"val": {"shards": str(site.tar)}}

    told = points(site.write())

    assert told["corpora"] == ["web", "val"]
    assert told["colours"][0]["names"] == ["web", "val"]


def test_names_are_sorted_by_frequency_with_the_background_value_first():
    colour = ColourColumn("c", "C", "", "", ["b", "a", "a", "kept", None], quiet="kept")

    assert colour.data()["names"] == ["kept", "a", "", "b"]
    assert colour.data()["quiet"] == 1


def test_unknown_numbers_are_null():
    colour = ColourColumn("c", "C", "", "", [0.5, None], is_number=True)

    assert colour.data()["values"] == [0.5, None]
