import copiesdrawings as made
import numpy as np
import pytest

from clipaudit.copies.agreement import agreement, aligned
from clipaudit.copies.differences import NOTHING, Box, agreement_beside, differing_box
from clipaudit.copies.pyramids import pyramid_of

SAME = np.array([[1.0, 0, 0], [0, 1, 0]])


def found(one, two):
    pair = pyramid_of(one), pyramid_of(two)
    return agreement(*pair, aligned(*pair, SAME))


def test_the_box_encloses_the_difference():
    other = made.texture(0).copy()
    other[60:120, 150:240] = made.texture(1)[60:120, 150:240]

    box = differing_box(found(made.texture(0), other))

    assert box == pytest.approx((0.25, 0.5, 0.5, 0.8), abs=0.1)
    assert not box.is_bar


def test_everything_outside_the_box_agrees():
    captioned = found(made.texture(0), made.captioned(made.texture(0)))

    box = differing_box(captioned)

    assert box.is_bar
    assert agreement_beside(captioned, box) == 1


def test_equal_images_have_no_difference():
    assert differing_box(found(made.texture(0), made.texture(0))) == NOTHING


def test_outside_excludes_the_box():
    outside = Box(0.5, 1.0, 0.25, 0.75).outside((4, 8))

    assert outside.sum() == 4 * 8 - 2 * 4
    assert NOTHING.outside((4, 8)).all()
    assert NOTHING.area == 0
