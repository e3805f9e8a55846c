import numpy as np
import pyarrow as pa
from matplotlib.backends.backend_agg import FigureCanvasAgg

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.drawings import draw_figure


def draw(*points):
    """The drawing of a method's thresholds: (threshold, false candidates, recall, chosen)."""
    rows = [
        {"panel_position": 0, "panel_title": "hash", "threshold": threshold, "chosen": chosen}
        | {"per_million": per_million, "recall": recall, "asked_per_million": 50.0}
        for threshold, per_million, recall, chosen in points
    ]
    columns = ("panel_position", "panel_title")
    table = pa.Table.from_pylist(rows) if rows else pa.table({name: [] for name in columns})
    return draw_figure("trade_off", table, {"empty": "nothing was calibrated"})


def test_the_legend_names_the_chosen_threshold_and_the_line_of_the_requested_rate():
    figure = draw((9.0, 1.0, 0.5, False), (19.0, 20.0, 0.75, True))

    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["chosen threshold", "as many as the settings allow"]
    (mark,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert (mark.get_xdata().tolist(), mark.get_ydata().tolist()) == ([20], [75])
    assert [text.get_text() for text in figure.axes[0].texts] == ["19"]


def test_the_threshold_of_a_low_recall_is_within_the_panel():
    (axes,) = draw((9.0, 1.0, 0.01, True)).axes
    axes.figure.draw_without_rendering()

    (threshold,) = axes.texts
    assert threshold.get_window_extent().y0 >= axes.get_window_extent().y0


def test_the_line_of_the_requested_rate_does_not_cross_the_threshold():
    (axes,) = draw((57.0, 30.0, 0.75, True)).axes
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    (threshold,) = axes.texts
    (line,) = [line for line in axes.lines if line.get_linestyle() == "--"]
    place = threshold.get_window_extent()
    at = axes.transData.transform((line.get_xdata()[0], 0))[0]
    assert place.x0 < at < place.x1

    seen = np.asarray(canvas.buffer_rgba())[::-1, :, :3].astype(int)
    letters = seen[round(place.y0) : round(place.y1), round(place.x0) : round(place.x1)]
    grey = (np.ptp(letters, axis=2) < 8) & (letters.max(axis=2) < 200)
    assert not grey.any()


def test_rates_are_plain_numbers():
    figure = draw((9.0, 1.0, 0.5, True))

    figure_bytes(figure)
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert {"≤ 0.1", "1", "100", "10k", "1M"} <= set(labels)
    assert not any("$" in label for label in labels)


def test_without_thresholds_the_figure_says_so():
    figure = draw()

    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing was calibrated"]
    assert figure.legends == []


def test_drawing_twice_gives_the_same_bytes():
    assert figure_bytes(draw((9.0, 1.0, 0.5, True))) == figure_bytes(draw((9.0, 1.0, 0.5, True)))
