import pytest

from clipaudit.reports.drawing import WIDTHS, style
from clipaudit.reports.panels import (
    label_axes,
    new_panels,
    title_groups,
    title_panel,
    write_legend,
    write_note,
)


@pytest.fixture(autouse=True)
def in_style():
    with style():
        yield


@pytest.mark.parametrize(
    ("n", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 2, 2), (5, 2, 3), (6, 2, 3)]
)
def test_panels_are_arranged_in_at_most_three_columns(n, rows, columns):
    figure, axes = new_panels(n, height=1.5)

    grid = axes[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols, len(axes)) == (rows, columns, n)
    assert figure.get_figwidth() == WIDTHS["single" if n == 1 else "double"]
    assert [each.get_visible() for each in figure.axes].count(True) == n


def test_the_lowest_panel_of_each_column_has_numbers_and_a_title():
    figure, axes = new_panels(5, height=1.5)

    label_axes(axes, "similarity", "share")

    figure.draw_without_rendering()
    numbered = [each.xaxis.get_tick_params()["labelbottom"] for each in axes]
    assert numbered == [False, False, True, True, True]
    assert [each.get_xlabel() for each in axes] == ["", "", *["similarity"] * 3]
    assert [each.get_ylabel() for each in axes] == ["share", "", "", "share", ""]


def test_long_titles_are_wrapped_to_fit_their_panel():
    _, axes = new_panels(3, height=1.5)

    label_axes(axes, "similarity to the nearest image of a set with a long name", "share of images")

    assert axes[0].get_xlabel().splitlines() == [
        "similarity to the nearest image",
        "of a set with a long name",
    ]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_long_titles_of_panels_do_not_reach_the_next_one(n):
    figure, axes = new_panels(n, height=1.5)

    for each in axes:
        title_panel(each, "Sketches of animals, drawn by many people, of all test sets")

    figure.draw_without_rendering()
    boxes = [each._left_title.get_window_extent() for each in axes]
    starts = [*(box.x0 for box in boxes[1:]), figure.bbox.x1]
    assert all(box.x1 < start for box, start in zip(boxes, starts, strict=True))


def test_an_empty_panel_has_a_note_and_no_invented_numbers():
    figure, (axes, other) = new_panels(2, height=1.5)

    write_note(axes, "no images")

    figure.draw_without_rendering()
    assert [text.get_text() for text in axes.texts] == ["no images"]
    assert not axes.yaxis.get_tick_params()["labelleft"]
    assert other.yaxis.get_tick_params()["labelleft"]


def test_without_handles_there_is_no_legend():
    figure, _ = new_panels(1, height=1.5)

    write_legend(figure, [])

    assert figure.legends == []


@pytest.mark.parametrize(("label", "columns"), [("short", 2), ("a model of a long name " * 2, 1)])
def test_a_legend_has_as_many_columns_as_fit_within_the_figure(label, columns):
    figure, axes = new_panels(1, height=1.5)
    handles = [axes[0].plot([0], [0], label=f"{label} {number}")[0] for number in range(4)]

    write_legend(figure, handles)

    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert legend._ncols == columns
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


@pytest.mark.parametrize(
    ("titles", "shown"), [(["red, dog"] * 10, "red,\ndog"), (["telephones, dog"] * 20, None)]
)
def test_titles_side_by_side_are_wrapped_or_rotated(titles, shown):
    _, (axes,) = new_panels(1, height=1.5)

    title_groups(axes, titles)

    first = axes.get_xticklabels()[0]
    assert first.get_text() == (shown or titles[0])
    assert first.get_rotation() == (0 if shown else 90)


def test_the_figure_grows_by_vertical_titles():
    heights = []
    for titles in (["red"] * 20, ["telephones and dogs"] * 20):
        figure, (axes,) = new_panels(1, height=1.5)
        title_groups(axes, titles)
        figure.draw_without_rendering()
        heights.append(axes.get_window_extent().height)

    assert heights[1] == pytest.approx(heights[0], rel=0.2)


def test_the_figure_grows_with_a_legend_of_many_lines():
    figure, (axes,) = new_panels(1, height=1.5)
    handles = [axes.plot([0], [0], label=f"{'long name ' * 4}{number}")[0] for number in range(5)]
    before = figure.get_figheight()

    write_legend(figure, handles)

    assert figure.get_figheight() == pytest.approx(before + 3 * 0.15)
