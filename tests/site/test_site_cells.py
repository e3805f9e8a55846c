from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.reports.layouts import MINUS, Layout, Line, Listing, Place, count, percent
from clipaudit.reports.rendering import to_markdown
from clipaudit.similarity.reports.layouts import LAYOUTS
from clipaudit.site.cells import plain_grid, printed_grid

LISTING = Listing(
    caption="",
    corner="Set",
    name=lambda row: row["set"],
    fields={
        "Removed": lambda row: count(-row["removed"]),
        "Share": lambda row: percent(row["share"]),
    },
)
LAYOUT = Layout(
    caption="",
    corner="Set",
    row="set",
    column="test",
    lines=(
        Line("", lambda row: percent(row["share"])),
        Line("in the paper", lambda row: percent(row["published_share"])),
    ),
)


def row(**columns):
    given = {"position": 0, "set": "a", "test": "val", "test_title": "Val", "share": 0.25}
    return {**given, "published_share": None, "removed": 3, **columns}


def test_a_cell_names_the_column_it_prints():
    grid = printed_grid([row()], LISTING)

    ((line,),) = grid.rows
    assert line.cells[1].text == "25.00"
    assert (line.cells[1].columns, line.cells[1].value, line.cells[1].row) == (("share",), 0.25, 0)


def test_a_count_printed_as_a_loss_is_sorted_as_a_loss():
    ((line,),) = printed_grid([row(removed=3)], LISTING).rows

    assert (line.cells[0].text, line.cells[0].value) == (f"{MINUS}3", -3)


def test_a_place_is_sorted_by_shard_then_row():
    layout = replace(LISTING, fields={"Image": Place("removed", "position")})

    ((line,),) = printed_grid([row(removed=3, position=12)], layout).rows

    assert (line.cells[0].text, line.cells[0].value) == ("3:12", "3:12")  # as text, by its numbers


def test_a_size_printed_as_a_loss_is_sorted_among_sizes():
    lead = {"lead": lambda row: count(-row["removed"]), "lead_sort": "size"}
    layout = replace(LAYOUT, lead="Size", lines=(Line("", LAYOUT.lines[0].body, **lead),))

    ((line,),) = printed_grid([row(size=1997)], layout).rows

    assert (line.cells[0].text, line.cells[0].value) == (f"{MINUS}3", 1997)
    assert line.cells[0].columns == ("removed",)


@pytest.mark.parametrize("name", ["similarity_table1", "similarity_table3", "similarity_table4"])
def test_sizes_in_accuracy_tables_are_sorted_as_sizes(name):
    assert LAYOUTS[name].lines[0].lead_sort == "size"


def test_cells_of_one_printed_row_may_come_from_several_rows():
    rows = [row(), row(test="sketch", test_title="Sketch", share=0.5)]

    grid = printed_grid(rows, LAYOUT)

    assert grid.heads == ("Set", "Val", "Sketch")
    assert [cell.row for cell in grid.rows[0][0].cells] == [0, 1]


def test_a_missing_cell_comes_from_no_row():
    rows = [row(), row(position=1, set="b", test="sketch", test_title="Sketch")]

    cell = printed_grid(rows, LAYOUT).rows[0][0].cells[1]

    assert (cell.text, cell.row, cell.columns) == ("\N{EN DASH}", None, ())


def test_the_papers_line_is_marked():
    lines = printed_grid([row(published_share=0.3)], LAYOUT).rows[0]

    assert [(line.name, line.is_published) for line in lines] == [
        ("a", False),
        ("in the paper", True),
    ]


def test_control_characters_in_names_are_escaped():
    ((line,),) = printed_grid([row(set="a\x1b[31m")], LISTING).rows

    assert line.name == "a\\x1b[31m"


@pytest.mark.parametrize("layout", [LISTING, LAYOUT], ids=["listing", "layout"])
@given(
    shares=st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=4),
)
def test_texts_equal_those_of_the_markdown_form(layout, shares):
    rows = [
        row(position=place, set=f"set {place}", share=share, published_share=share)
        for place, share in enumerate(shares)
    ]
    schema = pa.schema(
        {name: pa.array([value]).type for name, value in row(published_share=0.5).items()}
    )

    grid = printed_grid(rows, layout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clipaudit.reports.rendering.layouts", lambda table: {"it": layout})
        printed = to_markdown("it", pa.Table.from_pylist(rows, schema=schema))
    cells = [[cell.strip() for cell in line.split("|")[2:-1]] for line in printed.splitlines()[4:]]
    assert [[cell.text for cell in line.cells] for lines in grid.rows for line in lines] == cells


def test_a_stored_table_keeps_its_values():
    grid = plain_grid(["share", "kept", "name"], [{"share": -0.1, "kept": True, "name": None}])

    ((line,),) = grid.rows
    assert [cell.text for cell in line.cells] == [f"{MINUS}0.1", "yes", "\N{EN DASH}"]
    assert [cell.value for cell in line.cells] == [-0.1, True, None]


@pytest.mark.parametrize("layout", [LAYOUT, LISTING])
def test_an_untrained_model_has_a_row_only_if_it_has_a_number(layout):
    empty = {"share": None, "in_grid": False, "position": 1, "set": "b"}
    names = LISTING.fields | {"Removed": lambda row: count(row["removed"])}
    layout = replace(layout, fields=names) if layout is LISTING else layout

    grid = printed_grid([row(in_grid=True), row(**empty, removed=None)], layout)

    assert [lines[0].name for lines in grid.rows] == ["a"]


def test_an_untrained_model_with_the_papers_number_keeps_its_row():
    grid = printed_grid([row(share=None, in_grid=False, published_share=0.5)], LAYOUT)

    assert [line.name for line in grid.rows[0]] == ["a", "in the paper"]
