import pyarrow as pa

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.forms.dots import draw_dots

OPTIONS = {"x_label": "similarity", "reference": "CLIP", "empty": "no words"}
SCHEMA = pa.schema(
    [(name, pa.int32()) for name in ("panel_position", "group_position", "row_position")]
    + [("series_position", pa.int32())]
    + [(name, pa.string()) for name in ("panel_title", "group_title", "row_title", "series_title")]
    + [(name, pa.float64()) for name in ("value", "low", "high", "reference")]
)


def mark(line, value, *, series=0, group=0, panel=0, **columns):
    """A row: its line is None for a model that would have many."""
    return {
        "panel_position": panel,
        "panel_title": f"panel {panel}",
        "group_position": None if line is None else group,
        "group_title": None if line is None else f"group {group}",
        "row_position": line,
        "row_title": None if line is None else f"line {line}",
        "series_position": series,
        "series_title": f"series {series}",
        "value": value,
    } | columns


def draw(*rows, **options):
    return draw_dots(pa.Table.from_pylist(list(rows), SCHEMA), OPTIONS | options)


def marks(axes):
    """Where the marks of each series are, from left to right."""
    lines = [line for line in axes.lines if line.get_linestyle() == "None"]
    return [list(line.get_xdata()) for line in lines]


def labels(axes):
    axes.figure.draw_without_rendering()
    return [label.get_text() for label in axes.get_yticklabels()]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_lines_are_below_the_titles_of_their_groups():
    (axes,) = draw(mark(2, 0.5, group=1), mark(1, 0.25), mark(0, 0.75)).axes

    assert labels(axes) == ["group 0", "line 0", "line 1", "group 1", "line 2"]
    places = axes.get_yticks().tolist()
    assert places == sorted(places)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_marks_are_at_the_values_and_shares_are_in_percent():
    rows = [mark(0, 0.5), mark(1, 0.25)]

    assert marks(draw(*rows).axes[0]) == [[0.5, 0.25]]
    assert marks(draw(*rows, scale="percent").axes[0]) == [[50, 25]]


def test_marks_of_a_line_do_not_hide_each_other():
    (axes,) = draw(*(mark(0, 0.5, series=n) for n in range(3))).axes

    heights = [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "None"]
    (place,) = [y for y, text in zip(axes.get_yticks(), labels(axes), strict=True) if "l" in text]
    assert heights == sorted(set(heights))
    assert all(abs(height - place) < 0.5 for height in heights)


def test_whiskers_extend_from_low_to_high_if_both_are_known():
    (axes,) = draw(mark(0, 0.5, low=0.25, high=0.75), mark(1, 0.5)).axes

    (whisker,) = [path for each in axes.collections for path in each.get_paths()]
    assert whisker.vertices[:, 0].tolist() == [0.25, 0.75]


def test_the_reference_is_a_line_named_last_in_the_legend():
    figure = draw(mark(0, 0.5, reference=0.375), mark(0, 0.25, series=1, reference=0.375))

    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["series 0", "series 1", "CLIP"]
    assert [0.375, 0.375] in [list(line.get_xdata()) for line in figure.axes[0].lines]


def test_a_panel_without_marks_says_so_and_keeps_its_lines():
    left, right = draw(mark(0, None), mark(0, 0.5, panel=1)).axes

    assert texts(left) == ["no words"]
    assert left.get_title(loc="left") == "panel 0"
    assert labels(left) == ["group 0", "line 0"]
    assert marks(right) == [[0.5]]


def test_a_figure_without_any_line_has_no_numbers():
    figure = draw(*(mark(None, None, panel=n) for n in range(2)))
    figure.draw_without_rendering()

    shown = [
        tick.label1.get_visible() for axes in figure.axes for tick in axes.xaxis.get_major_ticks()
    ]
    assert not any(shown)
    assert figure.legends == []


def test_a_long_line_title_is_truncated():
    (axes,) = draw(mark(0, 0.5, row_title="x" * 60)).axes

    assert labels(axes)[1] == "x" * 27 + "…"


def test_long_line_titles_with_one_beginning_are_told_apart_by_their_ends():
    titles = [f"Photos of animals in the wild, {year}" for year in (2019, 2020)]

    (axes,) = draw(*(mark(n, 0.5, row_title=title) for n, title in enumerate(titles))).axes

    assert labels(axes)[1:] == [f"Photos of anim…he wild, {year}" for year in (2019, 2020)]
    assert max(map(len, labels(axes))) <= 28


def test_series_that_repeat_a_colour_are_hollow():
    (axes,) = draw(*(mark(0, 0.5, series=n) for n in range(9))).axes

    first, *_, last = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert first.get_color() == last.get_color()
    assert (first.get_markerfacecolor(), last.get_markerfacecolor()) == (first.get_color(), "white")


def test_five_panels_are_arranged_in_two_rows():
    figure = draw(*(mark(0, 0.5, panel=n) for n in range(5)))

    tops = [axes.get_subplotspec().rowspan.start for axes in figure.axes if axes.get_visible()]
    assert tops == [0, 0, 0, 0, 1]


def test_drawing_twice_gives_the_same_bytes():
    rows = [mark(0, 0.5, low=0.4, high=0.6, reference=0.3), mark(1, None)]

    assert figure_bytes(draw(*rows)) == figure_bytes(draw(*rows))
