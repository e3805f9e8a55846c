import numpy as np
import pyarrow as pa
import pytest

from clipaudit.reports.drawing import PALETTE, figure_bytes
from clipaudit.reports.forms.profiles import draw_profiles

BESIDE = {"groups": "beside", "x_label": "groups of clusters"}


def group(position, **values):
    """The rows of a group: the mean score of each series."""
    return [
        {"group_position": position, "group_title": f"group {position}"}
        | {"series_position": n, "series": name, "series_title": f"is {name}", "value": value}
        for n, (name, value) in enumerate(values.items())
    ]


def draw(*groups, **options):
    table = pa.Table.from_pylist([row for rows in groups for row in rows])
    return draw_profiles(table, BESIDE | options)


def test_each_series_has_a_mark_in_every_group_joined_by_a_line():
    (axes,) = draw(group(0, raw=0.25, all=0.125), group(1, raw=0.5, all=0.375)).axes

    raw, removed = axes.lines
    assert (raw.get_xdata().tolist(), raw.get_ydata().tolist()) == ([0, 1], [0.25, 0.5])
    assert removed.get_ydata().tolist() == [0.125, 0.375]
    assert (raw.get_linestyle(), axes.get_ylabel()) == ("-", "mean score")


def test_a_line_breaks_where_a_group_has_no_value():
    rows = [group(n, raw=value, none=0.25) for n, value in enumerate((0.5, None, 0.25))]

    (axes,) = draw(*rows).axes

    np.testing.assert_equal(axes.lines[0].get_ydata(), [0.5, np.nan, 0.25])


def test_random_removal_has_the_colour_of_removal_and_hollow_marks():
    (axes,) = draw(group(0, all=0.5, random_all=0.25)).axes

    removed, random = axes.lines
    assert removed.get_color() == random.get_color()
    assert removed.get_markerfacecolor() != random.get_markerfacecolor() == "white"


@pytest.mark.parametrize(("groups", "titles"), [(30, 30), (31, 0)])
def test_many_groups_beside_each_other_have_no_titles(groups, titles):
    (axes,) = draw(*(group(n, raw=0.5) for n in range(groups))).axes

    assert len(axes.get_xticklabels()) == titles


def test_groups_below_each_other_have_titles_and_marks_without_lines():
    (axes,) = draw(group(0, raw=0.5), group(1, raw=0.25), groups="below").axes

    assert [label.get_text() for label in axes.get_yticklabels()] == ["group 0", "group 1"]
    assert (axes.lines[0].get_xdata().tolist(), axes.lines[0].get_linestyle()) == (
        [0.5, 0.25],
        "None",
    )
    assert (axes.yaxis_inverted(), axes.get_xlabel()) == (True, "mean score")


def test_a_note_has_a_row_of_its_own_below_all_groups():
    (axes,) = draw(group(0, raw=0.5), groups="below", note="and 2 models").axes

    (note,) = axes.texts
    assert (note.get_text(), note.get_position()[1]) == ("and 2 models", 1)
    assert axes.get_ylim() == (1.5, -0.5)
    assert note.get_color() == PALETTE["quiet"]


def test_the_figure_grows_with_its_rows():
    few = draw(*(group(n, raw=0.5) for n in range(5)), groups="below")
    many = draw(*(group(n, raw=0.5) for n in range(50)), groups="below")

    assert many.get_figheight() - few.get_figheight() == pytest.approx(45 * 0.16)


def test_the_legend_names_what_is_drawn():
    figure = draw(group(0, none=None, raw=0.5, all=0.25))

    assert [text.get_text() for text in figure.legends[0].texts] == ["is raw", "is all"]


def test_no_means_at_all_are_said():
    (axes,) = draw(group(0, raw=None)).axes

    assert [text.get_text() for text in axes.texts] == ["no pictures"]


def test_no_groups_at_all_are_said():
    empty = pa.Table.from_pylist(group(0, raw=0.5)).slice(0, 0)

    (axes,) = draw_profiles(empty, BESIDE).axes

    assert [text.get_text() for text in axes.texts] == ["no pictures"]


def test_bytes_repeat():
    assert figure_bytes(draw(group(0, raw=0.5))) == figure_bytes(draw(group(0, raw=0.5)))
