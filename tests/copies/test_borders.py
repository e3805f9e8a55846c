import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.copies.borders import Box, content_box

margins = st.tuples(*[st.integers(0, 9)] * 4)


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def framed(picture, margin, colour):
    top, bottom, left, right = margin
    height, width = picture.shape[:2]
    canvas = np.full((height + top + bottom, width + left + right, 3), colour, np.uint8)
    canvas[top : top + height, left : left + width] = picture
    return canvas


@given(margins, st.sampled_from([0, 127, 255]))
def test_the_box_is_the_area_inside_a_border(margin, colour):
    picture = noise(20, 30)

    box = content_box(framed(picture, margin, colour))

    np.testing.assert_array_equal(box.cut(framed(picture, margin, colour)), picture)


def test_nested_borders_are_removed():
    picture = framed(framed(noise(40, 30), (5, 5, 5, 5), 255), (3, 0, 7, 2), 0)

    assert content_box(picture) == Box(8, 48, 12, 42)


def test_sides_of_a_border_may_differ_in_colour():
    letterboxed = framed(framed(noise(40, 30), (6, 0, 0, 0), 20), (0, 9, 0, 0), 200)

    assert content_box(letterboxed) == Box(6, 46, 0, 30)


def test_noise_in_the_border_does_not_matter():
    grain = np.random.default_rng(1).integers(-8, 9, (60, 70, 3))
    picture = framed(noise(40, 30), (10, 10, 20, 20), 128)

    box = content_box((picture + np.where(picture == 128, grain, 0)).astype(np.uint8))

    assert box == Box(10, 50, 20, 50)


@pytest.mark.parametrize("size", [(2, 2), (2, 300), (300, 2), (64, 64)])
def test_a_uniform_image_is_kept_whole(size):
    assert content_box(np.full((*size, 3), 77, np.uint8)) == Box(0, size[0], 0, size[1])


def test_an_image_without_a_border_is_kept_whole():
    assert content_box(noise(50, 60)) == Box(0, 50, 0, 60)
