import copiesdrawings as made
import numpy as np

from clipaudit.copies.agreement import agreement, aligned, correlation, richness
from clipaudit.copies.pyramids import pyramid_of

SAME = np.array([[1.0, 0, 0], [0, 1, 0]])


def found(one, two):
    pair = pyramid_of(one), pyramid_of(two)
    return agreement(*pair, aligned(*pair, SAME))


def test_equal_images_agree_everywhere():
    same = found(made.drawing(0), made.drawing(0))

    assert same.score == 1
    assert same.colours is None
    assert correlation(same) > 0.999


def test_recoloured_images_agree_through_a_colour_map():
    recoloured = found(made.drawing(0), np.ascontiguousarray(made.drawing(0)[..., [1, 2, 0]]))

    assert recoloured.score > 0.95
    assert recoloured.other_colours.any()
    assert not recoloured.wrong_colours.any()


def test_different_images_agree_little():
    assert found(made.drawing(0), made.drawing(1)).score < 0.5


def test_images_that_do_not_overlap_have_no_agreement():
    rgb = pyramid_of(made.drawing(0))

    assert aligned(rgb, rgb, SAME + np.array([[0, 0, 999], [0, 0, 0]])) is None


def test_a_ring_has_low_richness_and_a_drawing_high():
    ring, drawing = made.symbol("◯"), made.drawing(0)

    assert richness(found(ring, ring).corners) < 20
    assert richness(found(drawing, drawing).corners) > 40


def test_richness_counts_cells():
    corners = np.zeros((20, 33), bool)
    corners[0, 0] = corners[1, 5] = corners[19, 32] = True

    assert richness(corners) == 2
