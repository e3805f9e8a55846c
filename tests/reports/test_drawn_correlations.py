import numpy as np
import pyarrow as pa
import pytest

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.drawings import draw_figure

OPTIONS = {"x_label": "similarity", "empty": "no images"}


def answers(position, accuracies, start=0.6, fit=(-2.0, 4.0), rho=0.5):
    """Rows of one test set with an interval of +-0.1; no accuracies, no bins."""
    same = {"position": position, "testset_title": f"Set {position}", "rank_correlation": rho}
    same |= {"intercept": fit and fit[0], "slope": fit and fit[1]}
    bins = [
        {
            "bin_low": start + 0.05 * n,
            "bin_high": start + 0.05 * (n + 1),
            "accuracy": accuracy,
            "accuracy_low": max(accuracy - 0.1, 0),
            "accuracy_high": min(accuracy + 0.1, 1),
            "images": 10 * (n + 1),
        }
        for n, accuracy in enumerate(accuracies)
    ]
    names = ("bin_low", "bin_high", "accuracy", "accuracy_low", "accuracy_high", "images")
    same |= dict.fromkeys(("published_similarity", "published_accuracy"))
    return [{**same, **each} for each in bins or [dict.fromkeys(names)]]


def of_paper(position, similarity, accuracy):
    """The row of a bin with a point of the paper and no image."""
    (row,) = answers(position, [])
    return [{**row, "published_similarity": similarity, "published_accuracy": accuracy}]


def draw(*rows, **options):
    table = pa.Table.from_pylist([row for part in rows for row in part])
    return draw_figure("correlations", table, OPTIONS | options)


def points(axes):
    """Each test set's markers, without its curve."""
    lines = [container.lines[0] for container in axes.containers]
    return [np.stack([line.get_xdata(), line.get_ydata()]).T for line in lines]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].texts]


def test_a_point_is_in_the_middle_of_its_bin_with_its_interval():
    (axes,) = draw(answers(0, [0.4, 0.95])).axes

    (found,) = points(axes)
    assert found.tolist() == [pytest.approx([0.625, 40]), pytest.approx([0.675, 95])]
    (bars,) = axes.containers[0].lines[2]
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [
        pytest.approx([30, 50]),
        pytest.approx([85, 100]),
    ]


def test_test_sets_in_one_bin_are_drawn_side_by_side_within_it():
    (axes,) = draw(*(answers(n, [0.4]) for n in range(6))).axes

    middles = [found[0][0] for found in points(axes)]
    assert sorted(middles) == middles
    assert len(set(middles)) == 6
    assert 0.6 < middles[0] < middles[-1] < 0.65
    assert np.mean(middles) == pytest.approx(0.625)


def test_the_curve_is_the_logistic_fit_over_the_range_of_the_bins():
    (axes,) = draw(answers(0, [0.4, 0.5, 0.6], fit=(-3.0, 5.0))).axes

    curve = axes.lines[-1]
    x, y = curve.get_xdata(), curve.get_ydata()
    assert (x[0], x[-1]) == pytest.approx((0.6, 0.75))
    np.testing.assert_allclose(y, 100 / (1 + np.exp(3 - 5 * x)))


def test_without_a_fit_there_are_points_but_no_curve():
    figure = draw(answers(0, [1.0, 1.0], fit=None, rho=None))

    (axes,) = figure.axes
    assert len(points(axes)[0]) == 2
    assert len(axes.lines) == len(axes.containers[0].lines[1]) + 1  # caps and markers
    assert legend(figure) == ["Set 0"]


def test_the_legend_names_every_test_set_with_its_correlation():
    figure = draw(answers(0, [0.4]), answers(1, [0.4], rho=-0.123), answers(2, []))

    rho, minus = "\N{GREEK SMALL LETTER RHO}", "\N{MINUS SIGN}"
    numbers = ["0.50", f"{minus}0.12", "0.50"]
    assert legend(figure) == [f"Set {n}, {rho} = {number}" for n, number in enumerate(numbers)]
    handles = figure.legends[0].legend_handles
    assert len({handle.get_marker() for handle in handles}) == 3
    assert len({handle.get_linestyle() for handle in handles}) == 3


def test_the_papers_points_are_hollow_and_named_in_the_legend():
    figure = draw(answers(0, [0.4]) + of_paper(0, 0.38, 0.35), answers(1, [0.5]))

    (axes,) = figure.axes
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [tuple(line.get_xydata()[0]) for line in hollow] == [(0.38, 35)]
    assert len(points(axes)[0]) == 1
    assert legend(figure)[-1] == "in the paper"


def test_points_of_the_paper_alone_give_no_figure():
    figure = draw(of_paper(0, 0.38, 0.35), empty="no images")

    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["no images"]
    assert len(axes.lines) == 1  # the empty line of the test set's markers
    assert "in the paper" not in legend(figure)


def test_an_empty_figure_states_the_reason():
    figure = draw(answers(0, [], fit=None, rho=None), empty="no images")

    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["no images"]
    assert legend(figure) == ["Set 0"]
    assert not axes.xaxis.get_tick_params()["labelbottom"]


def test_axes_are_labelled_with_their_units():
    (axes,) = draw(answers(0, [0.4])).axes

    assert (axes.get_xlabel(), axes.get_ylabel()) == ("similarity", "top-1 accuracy (%)")
    assert axes.get_ylim() == (0, 100)


def test_equal_tables_give_equal_bytes():
    rows = [answers(n, [0.4, 0.6]) for n in range(3)]

    assert figure_bytes(draw(*rows)) == figure_bytes(draw(*rows))


def test_image_counts_are_above_each_bin_with_a_line_per_test_set():
    (axes,) = draw(answers(0, [0.4, 0.95]), answers(1, [0.5], start=0.65)).axes

    counts = {(text.get_text(), round(text.get_position()[0], 3)) for text in axes.texts}
    assert counts == {("images", -0.03), ("10", 0.625), ("20", 0.675), ("10", 0.675)}
    first, *_, last = (text.get_position()[1] for text in axes.texts)
    assert first > last > 1


@pytest.mark.parametrize("n", [1, 3, 6, 12])
def test_everything_is_within_the_image_and_the_legend_below_the_panel(n):
    figure = draw(*(answers(place, [0.4, 0.5]) for place in range(n)))
    figure.draw_without_rendering()

    (axes,), (legend,) = figure.axes, figure.legends
    outer = axes.get_tightbbox()
    assert outer.y1 <= figure.bbox.y1
    assert legend.get_window_extent().y1 <= outer.y0
    assert len(axes.texts) == (0 if n > 6 else 3 * n)


def test_test_sets_from_the_ninth_on_are_hollow():
    figure = draw(*(answers(place, [0.4]) for place in range(9)))

    first, *_, last = figure.legends[0].legend_handles
    assert first.get_color() == last.get_color()
    assert (first.get_markerfacecolor(), last.get_markerfacecolor()) == (first.get_color(), "white")


def test_many_bins_have_no_counts():
    (axes,) = draw(answers(0, [0.5] * 11, start=0.4)).axes

    assert list(axes.texts) == []
