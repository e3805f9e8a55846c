import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex

from clipaudit.reports.drawing import PALETTE, SERIES_COLOURS, figure_bytes
from clipaudit.reports.forms.scatter import draw_scatter

OPTIONS = {"x_label": "accuracy (%)", "y_label": "gap", "empty": "no records"}
SCHEMA = pa.schema(
    [("panel_position", pa.int32()), ("panel_title", pa.string()), ("is_default", pa.bool_())]
    + [("series_position", pa.int32()), ("series_title", pa.string()), ("point_title", pa.string())]
    + [(name, pa.float64()) for name in ("x", "x_low", "x_high", "y", "y_low", "y_high")]
)


def point(x, y, *, series=0, panel=0, title="1M", reach=0.01, is_default=False):
    """A row, with intervals of `reach` to each side; None: there are none."""
    ends = {
        f"{axis}_{end}": None if None in (value, reach) else value + sign * reach
        for axis, value in (("x", x), ("y", y))
        for end, sign in (("low", -1), ("high", 1))
    }
    return ends | {
        "panel_position": panel,
        "panel_title": f"public set: {panel}",
        "series_position": series,
        "series_title": f"series {series}",
        "is_default": is_default,
        "point_title": title,
        "x": x,
        "y": y,
    }


def draw(*rows):
    return draw_scatter(pa.Table.from_pylist(list(rows), SCHEMA), OPTIONS)


def marks(axes):
    """Where the marks are, and their colours."""
    lines = [line for line in axes.lines if line.get_marker() not in ("|", "_", "None")]
    return [(line.get_xdata()[0], line.get_ydata()[0], to_hex(line.get_color())) for line in lines]


def names(axes):
    return [text.get_text() for text in axes.texts]


def test_points_are_at_their_values_in_the_colours_of_their_series():
    (axes,) = draw(point(0.25, 0.0625), point(0.5, 0.125, series=2)).axes

    assert marks(axes) == [
        (25, 0.0625, SERIES_COLOURS[0].lower()),
        (50, 0.125, SERIES_COLOURS[2].lower()),
    ]


def test_the_default_is_hollow_and_named_only_in_the_legend():
    figure = draw(point(0.25, 0.0625, is_default=True, title="default"), point(0.5, 0.125))

    (axes,) = figure.axes
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [to_hex(line.get_color()) for line in hollow] == [PALETTE["text"]]
    assert names(axes) == ["1M"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["series 0"]


def test_the_axes_extend_as_far_as_the_intervals():
    (axes,) = draw(point(0.25, 0.125, reach=0.0625)).axes

    ends = np.concatenate([part.vertices for each in axes.collections for part in each.get_paths()])
    assert ends.min(axis=0).tolist() == [18.75, 0.0625]
    assert ends.max(axis=0).tolist() == [31.25, 0.1875]
    assert 10 < axes.get_xlim()[0] < 18.75
    assert 0 < axes.get_ylim()[0] < 0.0625  # no room for a gap of 0, and no line there


@pytest.mark.parametrize(("y", "lines"), [(0.005, [0]), (0.5, [])])
def test_a_line_marks_a_gap_of_zero_if_the_axis_includes_it(y, lines):
    (axes,) = draw(point(0.25, y)).axes

    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in dashed] == lines


def test_names_overlap_neither_each_other_nor_points():
    rng = np.random.default_rng(0)
    places = rng.normal([0.25, 0.0625], [0.02, 0.02], (12, 2))
    figure = draw(*(point(x, y, title=f"value {n}") for n, (x, y) in enumerate(places)))
    figure.draw_without_rendering()

    (axes,) = figure.axes
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 3 < len(boxes) < 12
    assert [box.count_overlaps(boxes) for box in boxes] == [1] * len(boxes)  # with itself
    at = axes.transData.transform([(x, y) for x, y, _ in marks(axes)])
    assert not any(box.contains(*each) for box in boxes for each in at)


def test_many_points_have_no_names():
    rows = [point(0.1 * n, 0.1 * n) for n in range(13)]

    assert names(draw(*rows).axes[0]) == []
    assert len(names(draw(*rows[:5]).axes[0])) == 5


def test_a_panel_without_a_point_says_so():
    first, second = draw(point(0.25, None), point(0.25, 0.125, panel=1)).axes

    assert names(first) == ["no records"]
    assert len(marks(second)) == 1


def test_points_without_intervals_have_no_whiskers():
    (axes,) = draw(point(0.25, 0.125, reach=None)).axes

    ends = [part.vertices for each in axes.collections for part in each.get_paths()]
    assert all((each[0] == each[1]).all() for each in ends)


def test_the_same_table_gives_the_same_bytes():
    first, second = (figure_bytes(draw(point(0.25, 0.125), point(0.5, 0.25))) for _ in "ab")

    assert first == second
