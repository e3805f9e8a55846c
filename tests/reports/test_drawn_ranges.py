import itertools

import pyarrow as pa
import pytest

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.forms.ranges import draw_ranges
from clipaudit.reports.forms.tallies import draw_tallies

OPTIONS = {"x_label": "frequency", "y_label": "similarity", "empty": "no words"}
QUANTILES = ("low_tail", "low_quartile", "median", "high_quartile", "high_tail")
SPREAD = pa.schema([(name, pa.float64()) for name in QUANTILES])


def box(interval, quantiles, *, series=0, encoder=0, vocabulary=0, bounds=(1, 9)):
    """The row of a box; without quantiles of an interval that has no grams."""
    values = quantiles or (None,) * 5
    return {
        "series_position": series,
        "encoder": f"encoder-{encoder}",
        "encoder_position": encoder,
        "encoder_title": f"Encoder {encoder}",
        "vocabulary_position": vocabulary,
        "vocabulary_title": f"vocabulary {vocabulary}",
        "interval_position": interval,
        "low": bounds[0],
        "high": bounds[1],
        "grams": 5 if quantiles else 0,
    } | dict(zip(QUANTILES, values, strict=True))


def draw(*rows):
    return draw_ranges(pa.Table.from_pylist(list(rows)), OPTIONS)


def boxes(axes):
    return [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in axes.patches]


def ticks(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def texts(axes):
    return [text.get_text() for text in axes.texts]


FIVE = (0.0, 0.25, 0.5, 0.75, 1.0)


def test_a_box_shows_the_quartiles_a_line_the_tails_and_a_mark_the_median():
    (axes,) = draw(box(0, FIVE)).axes

    assert boxes(axes) == [(0.25, 0.75)]
    (line,) = [path for each in axes.collections for path in each.get_paths()]
    assert line.vertices[:, 1].tolist() == [0, 1]
    assert [list(line.get_ydata()) for line in axes.lines] == [[0.5]]


def test_boxes_of_an_interval_are_side_by_side_and_all_visible():
    (axes,) = draw(*(box(0, FIVE, series=n, encoder=n) for n in range(6))).axes

    sides = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches]
    assert all(right < left for (_, right), (left, _) in itertools.pairwise(sides))
    low, high = axes.get_ylim()
    assert low < 0 < 1 < high


def test_intervals_are_named_by_their_bounds_and_the_open_one_by_its_lower():
    (axes,) = draw(
        box(0, FIVE, bounds=(1, 3)), box(1, None, bounds=(4, 4)), box(2, FIVE, bounds=(28, None))
    ).axes

    assert ticks(axes) == ["1\N{EN DASH}3", "4", "\N{GREATER-THAN OR EQUAL TO} 28"]
    assert len(boxes(axes)) == 2


def test_the_legend_names_models_and_vocabularies_that_have_boxes():
    figure = draw(box(0, FIVE), box(0, FIVE, series=1, vocabulary=1), box(0, None, series=2))

    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["Encoder 0, vocabulary 0", "Encoder 0, vocabulary 1"]


def test_the_first_vocabulary_is_hollow():
    (axes,) = draw(box(0, FIVE), box(0, FIVE, series=1, vocabulary=1)).axes

    hollow, full = axes.patches
    assert hollow.get_facecolor() == (1, 1, 1, 1)
    assert full.get_facecolor() != hollow.get_facecolor()


def test_without_boxes_the_figure_says_so():
    figure = draw(box(0, None))

    assert texts(figure.axes[0]) == ["no words"]
    assert figure.legends == []


def test_drawing_boxes_twice_gives_the_same_bytes():
    assert figure_bytes(draw(box(0, FIVE))) == figure_bytes(draw(box(0, FIVE)))


# --- tallies -------------------------------------------------------------------------------------


def tallies(*counts):
    """The drawing of the numbers of grams of each series, interval by interval."""
    rows = [
        {"series_position": series, "series_title": f"series {series}", "grams": grams}
        | {"interval_position": interval, "low": 10**interval, "high": 10 ** (interval + 1) - 1}
        for series, each in enumerate(counts)
        for interval, grams in enumerate(each)
    ]
    return draw_tallies(pa.Table.from_pylist(rows), OPTIONS)


def test_bar_heights_equal_the_counts_on_a_logarithmic_axis():
    (axes,) = tallies([1000, 0, 1], [20, 3, 0]).axes

    assert [bar.get_height() for bar in axes.patches] == [1000, 1, 20, 3]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim()[0] < 1
    assert ticks(axes) == ["1\N{EN DASH}9", "10\N{EN DASH}99", "100\N{EN DASH}999"]


def test_tallies_without_words_say_so():
    figure = tallies([0], [0])

    assert texts(figure.axes[0]) == ["no words"]
    assert figure.legends == []


@pytest.mark.parametrize("counts", [[[0]], [[1]], [[5, 0, 400_000], [1, 2, 3]]])
def test_drawing_tallies_twice_gives_the_same_bytes(counts):
    assert figure_bytes(tallies(*counts)) == figure_bytes(tallies(*counts))
