import pyarrow as pa

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.drawings import draw_figure

OPTIONS = {"x_label": "recall", "y_label": "records (%)"}


def panel(position=0, stairs=None, **columns):
    """The rows of a panel: (recall, share of records with it or more) for each model."""
    same = {"panel_position": position, "panel_title": "10M", "is_default": False}
    same |= {"training_samples": 700, "aucg": 0.125, "aucg_net": None} | columns
    rows = [
        same | {"model": model, "recall": recall, "at_least": at_least}
        for model, steps in (stairs or {}).items()
        for recall, at_least in steps
    ]
    return rows or [same | {"model": None, "recall": None, "at_least": None}]


BOTH = {"target": [(0.0, 1.0), (1.0, 0.5)], "reference": [(0.0, 1.0), (0.5, 0.5)]}


def draw(*panels):
    return draw_figure("steps", pa.Table.from_pylist([row for p in panels for row in p]), OPTIONS)


def test_a_stair_falls_at_each_recall_from_all_records_to_none():
    (axes,) = draw(panel(stairs=BOTH)).axes

    target, reference = axes.lines
    assert target.get_xdata().tolist() == [0, 0, 1, 1]
    assert target.get_ydata().tolist() == [100, 100, 50, 0]
    assert reference.get_ydata().tolist() == [100, 100, 50, 0]
    assert reference.get_xdata().tolist() == [0, 0, 0.5, 1]


def test_the_panel_states_its_size_and_the_area():
    (axes,) = draw(panel(stairs=BOTH, is_default=True)).axes

    assert axes.get_title(loc="left") == "700 training samples*"
    assert [text.get_text() for text in axes.texts] == ["AUCG = 0.125"]


def test_the_panel_states_the_area_net_of_the_hold_out_set():
    (axes,) = draw(panel(stairs=BOTH, aucg_net=-0.0625)).axes

    said = "AUCG = 0.125\nnet = \N{MINUS SIGN}0.062"
    assert [text.get_text() for text in axes.texts] == [said]


def test_the_legend_names_both_models():
    figure = draw(panel(stairs=BOTH))

    names = [text.get_text() for text in figure.legends[0].texts]
    assert names == ["target model", "reference model"]


def test_a_panel_without_records_says_so():
    figure = draw(panel(stairs=BOTH), panel(1, training_samples=None))

    assert [text.get_text() for text in figure.axes[1].texts] == ["no records"]
    assert figure.axes[1].get_title(loc="left") == "10M training samples"


def test_drawing_twice_gives_the_same_bytes():
    assert figure_bytes(draw(panel(stairs=BOTH))) == figure_bytes(draw(panel(stairs=BOTH)))
