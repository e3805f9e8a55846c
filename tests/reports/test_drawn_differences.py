import pyarrow as pa
import pytest

from clipaudit.reports.drawing import figure_bytes
from clipaudit.reports.forms.differences import draw_differences

OPTIONS = {"x_label": "difference", "y_label": "share (%)"}


def panel(position, *bins, below=0.25):
    """The rows of a panel: (lower edge, share) of each bin."""
    same = {"panel_position": position, "panel_title": f"panel {position}", "share_below": below}
    return [
        same | {"bin_low": low, "bin_high": None if low is None else low + 0.5, "share": share}
        for low, share in bins or [(None, None)]
    ]


def draw(*panels):
    table = pa.Table.from_pylist([row for rows in panels for row in rows])
    return draw_differences(table, OPTIONS)


def test_bins_are_drawn_at_their_edges_in_percent():
    (axes,) = draw(panel(0, (-0.5, 0.25), (1.0, 0.75))).axes

    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in axes.patches]
    assert bars == [(-0.5, 0.5, 25), (1, 0.5, 75)]


def test_bins_below_zero_differ_in_colour_and_hatching():
    (axes,) = draw(panel(0, (-0.5, 0.25), (0.0, 0.75))).axes

    below, above = axes.patches
    assert below.get_facecolor() != above.get_facecolor()
    assert (below.get_hatch(), above.get_hatch()) == ("/////", "")


def test_the_panel_states_the_share_below_zero_above_all_bars():
    (axes,) = draw(panel(0, (0.0, 1.0), below=0.125)).axes

    assert [text.get_text() for text in axes.texts] == ["below 0: 12.5 %"]
    assert axes.get_ylim() == (0, pytest.approx(125))


def test_panels_share_their_horizontal_axis_and_fit_their_own_bars():
    first, second = draw(panel(0, (0.0, 1.0)), panel(1, (-0.5, 0.5))).axes

    assert first.get_ylim()[1] == 2 * second.get_ylim()[1]
    assert first.get_xlim() == second.get_xlim()


def test_a_panel_without_images_says_so():
    first, second = draw(panel(0, (0.0, 1.0)), panel(1)).axes

    assert [text.get_text() for text in second.texts] == ["no images"]
    assert first.patches
    assert not second.patches


def test_without_any_image_there_are_no_numbers():
    (axes,) = draw(panel(0)).axes

    assert axes.xaxis.get_tick_params()["labelbottom"] is False


def test_drawing_twice_gives_the_same_bytes():
    rows = panel(0, (0.0, 1.0))

    assert figure_bytes(draw(rows)) == figure_bytes(draw(rows))
