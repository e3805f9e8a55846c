import numpy as np
import pyarrow as pa
import pytest

from clipaudit.reports.drawing import figure_bytes
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


def marks(axes):
    """The marks of each series."""
    return [line for line in axes.lines if line.get_marker() not in ("None", "")]


def test_each_series_has_a_mark_in_every_group_and_no_line_between_groups():
    (axes,) = draw(group(0, raw=0.25, all=0.125), group(1, raw=0.5, all=0.375)).axes

    raw, removed = marks(axes)
    assert (raw.get_ydata().tolist(), removed.get_ydata().tolist()) == ([0.25, 0.5], [0.125, 0.375])
    assert np.round(raw.get_xdata()).tolist() == [0, 1]
    assert {raw.get_linestyle(), removed.get_linestyle()} == {"None"}


def test_equal_values_of_a_group_are_drawn_side_by_side():
    (axes,) = draw(group(0, raw=0.25, all=0.25, co=0.25), groups="below").axes

    heights = [line.get_ydata()[0] for line in marks(axes)]
    assert heights == sorted(set(heights))
    assert all(-0.5 < height < 0.5 for height in heights)


def test_a_whisker_covers_the_interval_if_it_is_known():
    known, unknown = group(0, raw=0.5), group(1, raw=0.25)

    (axes,) = draw(
        [row | {"low": 0.25, "high": 0.75} for row in known],
        [row | {"low": None, "high": None} for row in unknown],
    ).axes

    (whisker,) = [path for each in axes.collections for path in each.get_paths()]
    assert whisker.vertices[:, 1].tolist() == [0.25, 0.75]


def test_a_group_without_a_value_has_no_mark():
    rows = [group(n, raw=value, none=0.25) for n, value in enumerate((0.5, None, 0.25))]

    (axes,) = draw(*rows).axes

    assert marks(axes)[0].get_ydata().tolist() == [0.5, 0.25]


def test_random_removal_has_the_colour_of_removal_and_hollow_marks():
    (axes,) = draw(group(0, all=0.5, random_all=0.25)).axes

    removed, random = marks(axes)
    assert removed.get_color() == random.get_color()
    assert removed.get_markerfacecolor() != random.get_markerfacecolor() == "white"


@pytest.mark.parametrize(("groups", "titles"), [(30, 30), (31, 0)])
def test_many_groups_side_by_side_have_no_titles(groups, titles):
    (axes,) = draw(*(group(n, raw=0.5) for n in range(groups))).axes

    assert len(axes.get_xticklabels()) == titles


def test_groups_below_each_other_have_titles_and_marks_without_lines():
    (axes,) = draw(group(0, raw=0.5), group(1, raw=0.25), groups="below").axes

    assert [label.get_text() for label in axes.get_yticklabels()] == ["group 0", "group 1"]
    assert marks(axes)[0].get_xdata().tolist() == [0.5, 0.25]
    assert (axes.yaxis_inverted(), axes.get_xlabel()) == (True, "mean score")


def test_the_figure_grows_with_its_rows():
    few = draw(*(group(n, raw=0.5) for n in range(5)), groups="below")
    many = draw(*(group(n, raw=0.5) for n in range(50)), groups="below")

    assert many.get_figheight() - few.get_figheight() == pytest.approx(45 * 0.3)


def test_the_legend_names_what_is_drawn():
    figure = draw(group(0, none=None, raw=0.5, all=0.25))

    assert [text.get_text() for text in figure.legends[0].texts] == ["is raw", "is all"]


def test_a_figure_without_means_says_so():
    (axes,) = draw(group(0, raw=None)).axes

    assert [text.get_text() for text in axes.texts] == ["no images"]


def test_drawing_twice_gives_the_same_bytes():
    assert figure_bytes(draw(group(0, raw=0.5))) == figure_bytes(draw(group(0, raw=0.5)))
