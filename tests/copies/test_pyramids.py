import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clipaudit.copies.pyramids import FRAME_SIDE, composed, drawn, inverted, pyramid_of

numbers = st.floats(-3, 3, allow_nan=False).filter(lambda value: abs(value) > 0.1)
points = arrays(np.float64, (5, 2), elements=st.floats(-100, 100))


def affine(a, b, x, d):
    return np.array([[a, b, x], [0.0, d, 2 * x]])


def mapped(matrix, places):
    return places @ matrix[:, :2].T + matrix[:, 2]


@given(numbers, numbers, numbers, numbers, points)
def test_the_inverse_maps_back(a, b, x, d, places):
    matrix = affine(a, b, x, d)

    np.testing.assert_allclose(mapped(inverted(matrix), mapped(matrix, places)), places, atol=1e-6)


@given(numbers, numbers, numbers, numbers, points)
def test_a_composition_applies_the_inner_map_first(a, b, x, d, places):
    outer, inner = affine(a, b, x, d), affine(d, a, b, x)

    both = mapped(composed(outer, inner), places)

    np.testing.assert_allclose(both, mapped(outer, mapped(inner, places)), atol=1e-6)


def test_levels_halve_down_to_eight_pixels():
    pyramid = pyramid_of(np.zeros((100, 70, 3), np.uint8))

    assert [level.shape[:2] for level in pyramid.levels] == [(100, 70), (50, 35), (25, 18), (12, 9)]


def test_large_images_are_reduced_first():
    pyramid = pyramid_of(np.zeros((600, 1200, 3), np.uint8))

    assert pyramid.size == (FRAME_SIDE // 2, FRAME_SIDE)


def test_the_drawn_part_matches_the_image():
    rgb = np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8)

    canvas, inside = drawn(pyramid_of(rgb), np.array([[1.0, 0, 7], [0, 1, 3]]), (20, 30), 1.0)

    np.testing.assert_array_equal(canvas, rgb[3:23, 7:37])
    assert inside.all()


def test_points_outside_the_image_are_not_inside():
    pyramid = pyramid_of(np.full((40, 50, 3), 9, np.uint8))

    _, inside = drawn(pyramid, np.array([[1.0, 0, -10], [0, 1, 0]]), (40, 70), 1.0)

    np.testing.assert_array_equal(inside.any(axis=0), [10 <= x < 60 for x in range(70)])
