import pyarrow as pa
import pytest

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.drawings import draw_figure

TITLES = ("PPG", "PRG")


def group(position, title, *values, place=(0, 0), scale="gap", **columns):
    """The rows of a group of bars: a value, or (low, value, high), for each series."""
    same = {"panel_row": place[0], "panel_column": place[1], "panel_title": f"panel {place}"}
    same |= {"scale": scale, "group_position": position, "group_title": title}
    same |= {"is_default": False, "training_samples": None, "chance": None} | columns
    triples = [each if isinstance(each, tuple) else (None, each, None) for each in values]
    return [
        same
        | {"series_position": series, "series": name, "series_title": name}
        | dict(zip(("low", "value", "high"), triple, strict=True))
        for series, (name, triple) in enumerate(zip(TITLES, triples, strict=False))
    ]


def draw(*groups, **options):
    table = pa.Table.from_pylist([row for rows in groups for row in rows])
    return draw_figure("bars", table, {"group": "title"} | options)


def heights(axes):
    return [bar.get_height() for bar in axes.patches]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def ticks(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def test_bar_heights_equal_the_values_of_each_series():
    (axes,) = draw(group(0, "small", 0.1, 0.2), group(1, "large", 0.3, 0.4)).axes

    assert heights(axes) == pytest.approx([0.1, 0.3, 0.2, 0.4])
    assert ticks(axes) == ["small", "large"]


def test_accuracies_are_in_percent():
    (axes,) = draw(group(0, "x", 0.25, scale="utility")).axes

    assert heights(axes) == [25]
    assert axes.get_ylabel() == "accuracy (%)"


def test_whiskers_extend_from_low_to_high_if_both_are_known():
    (axes,) = draw(group(0, "x", (0.1, 0.2, 0.5), 0.3)).axes

    ends = [line for container in axes.containers for line in container if line is not None]
    whiskers = [path for each in axes.collections for path in each.get_paths()]
    assert ends
    assert [sorted(path.vertices[:, 1].tolist()) for path in whiskers] == [
        pytest.approx([0.1, 0.5])
    ]


def test_the_default_has_an_asterisk_and_its_word_is_not_broken():
    (axes,) = draw(group(0, "learned", 0.1, is_default=True), group(1, "100", 0.2)).axes

    assert ticks(axes) == ["learned*", "100"]


def test_a_group_without_a_value_has_no_bar():
    (axes,) = draw(group(0, "1", 0.1), group(1, "2", None)).axes

    assert ticks(axes) == ["1"]


def test_a_panel_without_any_value_says_so():
    (axes,) = draw(group(0, "1", None), empty="no records with objects").axes

    assert texts(axes) == ["no records with objects"]


def test_chance_is_a_line_named_in_the_legend():
    figure = draw(group(0, "x", 0.6, scale="selection", chance=0.5))

    assert [text.get_text() for text in figure.legends[0].texts] == ["PPG", "chance"]
    lines = [list(line.get_ydata()) for line in figure.axes[0].lines]
    assert [50, 50] in lines


def test_numbers_of_records_are_shown_with_their_shares():
    rows = group(0, "", 0.1, records=10_000, share=0.00005)

    (axes,) = draw(rows, group="records").axes

    assert ticks(axes) == ["10k\n<0.01"]


def test_panels_are_arranged_in_rows_and_a_single_one_fills_its_row():
    above = [group(0, "x", 0.1, place=(0, column)) for column in (0, 1)]

    figure = draw(*above, group(0, "x", 0.1, place=(1, 0), scale="utility"))
    figure.draw_without_rendering()

    left, right, below = (axes.get_position() for axes in figure.axes)
    assert left.y0 == pytest.approx(right.y0)
    assert below.width > 1.8 * left.width


def test_drawing_twice_gives_the_same_bytes():
    rows = [group(0, "x", (0.1, 0.2, 0.3), 0.4), group(1, "y", 0.2, 0.1)]

    assert figure_bytes(draw(*rows)) == figure_bytes(draw(*rows))
