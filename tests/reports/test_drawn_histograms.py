import pyarrow as pa
import pytest

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.drawings import draw_figure

SERIES = [("large", "LAION"), ("small", "ImageNet")]
OPTIONS = {"x_label": "similarity", "y": "share"}


def histogram(position, series, shares, start=0.8, width=0.1):
    """Rows of one series; a share of 0 is a bin that the table lacks; no shares, no bins."""
    name, title = SERIES[series]
    same = {"position": position, "testset_title": f"Set {position}", "series_position": series}
    same |= {"series": name, "series_title": title}
    bins = [
        {"bin_low": start + n * width, "bin_high": start + (n + 1) * width, "share": share}
        for n, share in enumerate(shares)
        if share
    ]
    bins = bins or [{"bin_low": None, "bin_high": None, "share": None}]
    return [{**same, **each, "density": each["share"]} for each in bins]


def draw(*rows, **options):
    table = pa.Table.from_pylist([row for part in rows for row in part])
    return draw_figure("histograms", table, OPTIONS | options)


def stairs(axes):
    return [patch.get_data() for patch in axes.patches]


def test_each_series_is_drawn_as_the_outline_of_its_bins():
    figure = draw(histogram(0, 0, [0.25, 0.75]), histogram(0, 1, [1.0], start=0.5))

    (axes,) = figure.axes
    first, second = stairs(axes)
    assert first.values.tolist() == [25, 75]
    assert first.edges.tolist() == pytest.approx([0.8, 0.9, 1.0])
    assert second.values.tolist() == [100]
    assert second.edges.tolist() == pytest.approx([0.5, 0.6])


def test_a_bin_missing_in_the_table_is_empty():
    figure = draw(histogram(0, 0, [0.5, 0, 0, 0.5], start=-0.2))

    ((values, edges, _),) = stairs(figure.axes[0])
    assert values.tolist() == [50, 0, 0, 50]
    assert edges.tolist() == pytest.approx([-0.2, -0.1, 0, 0.1, 0.2])


def test_the_legend_names_both_series_even_if_one_is_empty_here():
    figure = draw(
        histogram(0, 0, [1.0]), histogram(0, 1, []), histogram(1, 0, []), histogram(1, 1, [])
    )

    assert [text.get_text() for text in figure.legends[0].texts] == ["LAION", "ImageNet"]
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Set 0", "Set 1"]
    assert [len(axes.patches) for axes in figure.axes] == [1, 0]
    notes = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert notes == [[], ["no images"]]


def test_series_are_distinguishable_without_colour():
    first, second = draw(histogram(0, 0, [1.0]), histogram(0, 1, [1.0])).axes[0].patches

    assert (first.get_hatch(), second.get_hatch()) == (None, "////")
    assert first.get_linestyle() != second.get_linestyle()


def test_the_border_is_a_line_at_1_named_in_the_legend():
    figure = draw(histogram(0, 0, [2.5]), y="density", edge="the gap")

    (axes,) = figure.axes
    assert axes.lines[0].get_xdata() == [1, 1]
    assert [text.get_text() for text in figure.legends[0].texts] == ["LAION", "the gap"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("similarity", "density")
    assert stairs(axes)[0].values.tolist() == [2.5]


def test_equal_tables_give_equal_bytes():
    rows = [histogram(n, s, [0.2, 0.8]) for n in (0, 1) for s in (0, 1)]

    assert figure_bytes(draw(*rows)) == figure_bytes(draw(*rows))
