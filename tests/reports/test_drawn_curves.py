import pyarrow as pa
import pytest

from clipaudit.reports.drawing import PALETTE, figure_bytes
from clipaudit.reports.drawings import draw_figure

OPTIONS = {"x": "size", "y": "accuracy"}
SIZES = {"web": 200, "small": 100}


def curve(pruning, points, *, panel=0, series=0, group=0, baseline="web", whole=0.5):
    """Rows of a series: accuracy by size, None for a model that is not in the grid."""
    same = {
        "panel_position": panel,
        "panel_title": f"Set {panel}",
        "series_position": series,
        "series_title": f"{pruning}-pruned {group}",
        "pruning": pruning,
        "group_position": group,
        "group_title": ("CLIP", "supervised")[group % 2],
        "recipe": baseline,
        "baseline": baseline,
    }
    return [
        {
            **same,
            "manifest": baseline if n == 0 else f"{pruning}-{n}",
            "size": None if accuracy is None else size,
            "removed": None if accuracy is None else SIZES[baseline] - size,
            "share": None if accuracy is None else size / SIZES[baseline],
            "accuracy": accuracy,
            "accuracy_low": accuracy and accuracy - 0.1,
            "accuracy_high": accuracy and accuracy + 0.1,
            "relative_change": accuracy and accuracy / 0.5 - 1,
            "relative_change_low": None if n == 0 else accuracy and accuracy / 0.5 - 1.2,
            "relative_change_high": None if n == 0 else accuracy and accuracy / 0.5 - 0.8,
        }
        for n, (size, accuracy) in enumerate([(SIZES[baseline], whole), *points])
    ]


def draw(*rows, **options):
    table = pa.Table.from_pylist([row for part in rows for row in part])
    return draw_figure("curves", table, OPTIONS | options)


def lines(axes):
    """The data of the lines in the legend, by name."""
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.lines
        if not line.get_label().startswith("_")
    }


def legend(figure):
    return [text.get_text() for text in figure.legends[0].texts]


def notes(figure):
    return [[text.get_text() for text in axes.texts] for axes in figure.axes]


def test_a_series_is_a_line_through_its_points_and_the_baseline():
    figure = draw(
        curve("near", [(50, 0.1), (100, 0.3)]), curve("rand", [(100, 0.4), (50, 0.2)], series=1)
    )

    assert lines(figure.axes[0]) == {
        "near-pruned 0": ([50, 100, 200], pytest.approx([10, 30, 50])),
        "rand-pruned 0": ([50, 100, 200], pytest.approx([20, 40, 50])),
        "unpruned": ([200], [50]),
    }
    assert legend(figure) == ["near-pruned 0", "rand-pruned 0", "unpruned"]
    (line,) = [each for each in figure.axes[0].lines if each.get_label() == "near-pruned 0"]
    assert line.get_markevery() == [0, 1]  # the baseline has its own star


def test_every_point_has_its_interval_within_the_axes():
    (axes,) = draw(curve("near", [(50, 0.2), (100, 0.7)])).axes

    pruned, unpruned = (
        [bar[:, 1].tolist() for bar in container.lines[2][0].get_segments()]
        for container in axes.containers
    )
    assert pruned == [pytest.approx([10, 30]), pytest.approx([60, 80])]
    assert unpruned == [pytest.approx([40, 60])]
    low, high = axes.get_ylim()
    assert low < 10 < 80 < high
    assert axes.get_xlim()[0] < 0 < 200 < axes.get_xlim()[1]


def test_models_without_an_accuracy_have_no_point():
    figure = draw(curve("near", [(50, None), (100, 0.3)]), curve("far", [(50, None)], series=1))

    assert lines(figure.axes[0]) == {
        "near-pruned 0": ([100, 200], pytest.approx([30, 50])),
        "unpruned": ([200], [50]),
    }
    assert legend(figure) == ["near-pruned 0", "unpruned"]
    assert notes(figure) == [[]]


def test_without_any_accuracy_the_figure_shows_only_a_note():
    figure = draw(curve("near", [(50, None)], whole=None))

    assert notes(figure) == [["no images"]]
    assert figure.legends == []
    assert not figure.axes[0].xaxis.get_tick_params()["labelbottom"]


def test_panels_share_an_axis_that_starts_at_0():
    figure = draw(curve("near", [(50, 0.3)]), curve("near", [(50, 0.7)], panel=1))

    (low, high), other = (axes.get_ylim() for axes in figure.axes)
    assert (low, high) == other
    assert low == 0
    assert high > 80  # the upper end of the highest interval


def test_two_families_have_a_baseline_each():
    figure = draw(
        curve("near", [(100, 0.3)]),
        curve("near", [(50, 0.2)], series=1, group=1, baseline="small", whole=0.6),
        x="share",
    )

    assert lines(figure.axes[0]) == {
        "near-pruned 0": ([50, 100], pytest.approx([30, 50])),
        "near-pruned 1": ([50, 100], pytest.approx([20, 60])),
        "unpruned, CLIP": ([100], [50]),
        "unpruned, supervised": ([100], [60]),
    }
    assert figure.axes[0].get_xlabel() == "samples kept (%)"


def test_groups_with_the_same_baseline_share_its_star():
    figure = draw(
        curve("near", [(100, 0.3)]), curve("near", [(100, 0.2)], series=1, group=1), x="removed"
    )

    assert legend(figure) == ["near-pruned 0", "near-pruned 1", "unpruned"]
    assert lines(figure.axes[0])["unpruned"] == ([0], [50])
    assert lines(figure.axes[0])["near-pruned 1"][0] == [0, 100]


def test_relative_changes_are_drawn_around_zero():
    figure = draw(curve("near", [(100, 0.3)]), y="relative_change")

    (axes,) = figure.axes
    assert lines(axes)["near-pruned 0"] == ([100, 200], pytest.approx([-40, 0]))
    assert axes.get_ylabel() == "relative change of\naccuracy (%)"
    assert axes.get_ylim()[0] < -60


def test_series_are_distinguishable_without_colour():
    rows = [
        curve(pruning, [(100, 0.3)], series=3 * group + n, group=group)
        for group in (0, 1)
        for n, pruning in enumerate(("near", "far", "rand"))
    ]

    handles = draw(*rows).legends[0].legend_handles[:6]

    looks = {(h.get_linestyle(), h.get_marker(), h.get_markerfacecolor()) for h in handles}
    assert len({(line, marker) for line, marker, _ in looks}) == 3
    assert [h.get_markerfacecolor() == "white" for h in handles] == [False] * 3 + [True] * 3
    assert handles[0].get_color() == PALETTE["near"]


def test_large_sizes_are_shown_in_millions(monkeypatch):
    monkeypatch.setitem(SIZES, "web", 200_000_000)

    figure = draw(curve("near", [(50_000_000, 0.3)]))

    assert figure.axes[0].get_xlabel() == "training samples (millions)"
    assert lines(figure.axes[0])["near-pruned 0"][0] == pytest.approx([50, 200])


def test_thousands_are_separated(monkeypatch):
    monkeypatch.setitem(SIZES, "web", 20_000)

    figure = draw(curve("near", [(10_000, 0.3)]))

    figure.draw_without_rendering()
    numbers = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert "10\N{NARROW NO-BREAK SPACE}000" in numbers


def test_the_baseline_alone_gives_no_invented_axis_numbers():
    figure = draw(curve("near", [(50, None)]), x="removed")

    figure.draw_without_rendering()
    assert figure.axes[0].get_xticks().tolist() == [0]


def test_up_to_eight_groups_differ_in_lines_or_markers():
    handles = {}

    for n in range(8):
        (axes,) = draw(curve("near", [(100, 0.4)], group=n)).axes
        (line,) = [each for each in axes.lines if each.get_label().startswith("near")]
        handles[line.get_linewidth(), line.get_fillstyle(), line.get_markerfacecolor()] = line

    assert len(handles) == 8


def test_equal_tables_give_equal_bytes():
    rows = [curve("near", [(50, 0.1)], panel=n) for n in range(2)]

    assert figure_bytes(draw(*rows)) == figure_bytes(draw(*rows))
