import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tinysite import HOSTILE, TinySite

from clipaudit.lineage.graph import table_graph
from clipaudit.site.content import json_value, read_figure, read_table


@pytest.fixture
def site(tmp_path, monkeypatch):
    return TinySite(tmp_path, monkeypatch)


def read(site, reader, name):
    pointer = site.results / f"{name}.json"
    graph = table_graph(site.results, site.made.store, [pointer])
    return reader(site.results, site.made.store, pointer, graph)


def test_a_table_is_read_as_printed_and_as_stored(site):
    table = read(site, read_table, "tables/similarity_gap_check")

    assert (table.title, table.audit) == (
        "Kept samples nearer than the gap: none may be",
        "similarity",
    )
    assert table.grid.rows[1][0].name == "b-pruned"
    assert table.rows[1]["below"] == 29
    assert table.texts["latex"] == "latex"


def test_columns_have_a_description(site):
    table = read(site, read_table, "tables/similarity_gap_check")

    assert "above" in table.comments


def test_the_data_for_the_script_has_every_row(site):
    data = json.loads(json.dumps(read(site, read_table, "tables/similarity_gap_check").data()))

    assert data["columns"][0] == "search"
    assert data["rows"][0][0] == HOSTILE
    assert data["pointer"] == "tables/similarity_gap_check.json"


def test_a_gallery_is_recognised_by_its_step(site):
    figure = read(site, read_figure, "figures/similarity_fig2")

    assert figure.is_gallery
    assert (figure.width, figure.height) == (100, 200)


def test_a_figure_omits_columns_that_only_place_its_marks(site):
    table = read(site, read_figure, "figures/similarity_fig3").table

    assert table.grid.heads == ("row", "panel_title", "accuracy")
    assert table.columns == ("panel_position", "panel_title", "accuracy")


def test_a_caption_is_sanitized(site):
    figure = read(site, read_figure, "figures/similarity_fig2")

    assert figure.table.caption == "<script>alert(1)</script>\\x1b[31m"


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary()))
def test_every_value_becomes_json_that_browsers_can_read(value):
    text = json.dumps(json_value(value), allow_nan=False)

    found = json.loads(text)
    assert found == json_value(value)
    assert not isinstance(found, int) or abs(found) <= 2**53
