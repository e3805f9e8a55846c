import pyarrow as pa
import pytest

from clipaudit.reports.drawing import WIDTHS, figure_bytes
from clipaudit.reports.forms.stacks import draw_stacks

KINDS = ("none", "apart", "co")
STANDING = {"bars": "standing", "x_label": "groups"}


def bar(position, *shares, panel=0, pictures=1200):
    """The rows of a bar: a share of each kind, or None without images."""
    same = {"panel_position": panel, "panel_title": f"panel {panel}", "bar_position": position}
    same |= {"bar_title": f"bar {position}", "all_pictures": pictures}
    return [
        same | {"kind_position": n, "kind": kind, "kind_title": f"is {kind}", "share": share}
        for n, (kind, share) in enumerate(zip(KINDS, shares, strict=True))
    ]


def draw(*bars, **options):
    table = pa.Table.from_pylist([row for rows in bars for row in rows])
    return draw_stacks(table, {"bars": "lying"} | options)


def parts(axes):
    """Where the parts of horizontal bars begin and how long they are."""
    return [(each.get_x(), each.get_width()) for each in axes.patches]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_the_last_kind_is_drawn_first_and_a_bar_adds_up_all_kinds():
    (axes,) = draw(bar(0, 0.5, 0.375, 0.125)).axes

    assert parts(axes) == [(0, 12.5), (12.5, 37.5), (50, 50)]


def test_a_part_has_its_number_if_there_is_room():
    (axes,) = draw(bar(0, 0.5, 0.45, 0.05)).axes

    assert texts(axes) == ["45.0", "50.0"]


def test_horizontal_bars_are_labelled_with_their_size_from_the_top():
    (axes,) = draw(bar(1, 1, 0, 0, pictures=20_000), bar(0, 1, 0, 0)).axes

    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["bar 0\n(1\u202f200)", "bar 1\n(20k)"]
    assert axes.yaxis_inverted()


def test_panels_of_horizontal_bars_are_stacked_on_one_axis():
    figure = draw(bar(0, 1, 0, 0), bar(0, 0, 0, 1, panel=1))

    first, second = figure.axes
    assert [each.get_title(loc="left") for each in (first, second)] == ["panel 0", "panel 1"]
    assert first.get_position().y0 > second.get_position().y0
    assert first.get_shared_x_axes().joined(first, second)


def test_vertical_bars_are_as_wide_as_a_page_and_rise():
    figure = draw(bar(0, 0.25, 0, 0.75), bar(1, 1, 0, 0), **STANDING)

    (axes,) = figure.axes
    rising = [(each.get_y(), each.get_height()) for each in axes.patches if each.get_height()]
    assert figure.get_figwidth() == WIDTHS["double"]
    assert sorted(rising) == [(0, 75), (0, 100), (75, 25)]
    assert (axes.get_xlabel(), axes.get_ylim()) == ("groups", (0, 100))


@pytest.mark.parametrize(("bars", "titles"), [(30, 30), (31, 0)])
def test_many_vertical_bars_have_no_titles(bars, titles):
    (axes,) = draw(*(bar(n, 1, 0, 0) for n in range(bars)), **STANDING).axes

    assert len(axes.get_xticklabels()) == titles


def test_the_legend_names_kinds_in_the_order_of_a_bar():
    figure = draw(bar(0, 0.5, 0.25, 0.25))

    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["is co", "is apart", "is none"]


@pytest.mark.parametrize("options", [{}, STANDING])
def test_a_panel_without_images_says_so(options):
    (axes,) = draw(bar(0, None, None, None), **options).axes

    assert texts(axes) == ["no images"]
    assert not axes.patches


def test_drawing_twice_gives_the_same_bytes():
    assert figure_bytes(draw(bar(0, 0.5, 0, 0.5))) == figure_bytes(draw(bar(0, 0.5, 0, 0.5)))
