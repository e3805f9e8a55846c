import numpy as np
import pytest

from clipaudit.copies.placements import askew_by, is_usual, is_whole, turned_by
from clipaudit.copies.pyramids import pyramid_of

FRAME = pyramid_of(np.zeros((100, 100, 3), np.uint8))


def around_the_middle(degrees, zoom=1.0, shift=0.0):
    turn = np.radians(degrees)
    linear = zoom * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return np.column_stack([linear, 50 + shift - linear @ np.full(2, 50)])


@pytest.mark.parametrize("degrees", [0, 10, 90, 137, 180])
def test_the_angle_is_that_of_the_rotation(degrees):
    assert turned_by(around_the_middle(degrees)) == (pytest.approx(degrees), False)


def test_a_vertical_flip_is_a_mirroring_and_a_half_turn():
    assert turned_by(np.array([[1.0, 0, 0], [0, -1, 100]])) == (pytest.approx(180), True)


@pytest.mark.parametrize(("degrees", "askew"), [(2, 2), (88, 2), (93, 3), (135, 45), (180, 0)])
def test_askew_is_measured_from_quarter_turns(degrees, askew):
    assert askew_by(around_the_middle(degrees)) == pytest.approx(askew, abs=1e-6)


@pytest.mark.parametrize(
    ("placed", "whole", "usual"),
    [
        (around_the_middle(0), True, True),
        (around_the_middle(90), True, True),
        (around_the_middle(0, zoom=0.5), False, True),  # a border, or laid on another image
        (around_the_middle(0, zoom=1.5), False, True),  # a crop
        (around_the_middle(0, shift=20), False, False),
        (around_the_middle(0, shift=2), False, False),  # nearly whole
        (around_the_middle(10), False, True),  # turned, corners cut off
        (around_the_middle(10, zoom=0.8635), False, True),  # turned, all corners kept
        (around_the_middle(10, shift=5), False, False),
        (around_the_middle(10, zoom=1.1), False, False),
    ],
)
def test_alignments_produced_by_editing_are_recognised(placed, whole, usual):
    assert is_whole(FRAME, FRAME, placed) == whole
    assert is_usual(FRAME, FRAME, placed) == usual
