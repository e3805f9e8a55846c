import copiesdrawings as made
import numpy as np
import pytest

from clipaudit.copies.overlaps import corners
from clipaudit.copies.pyramids import inverted, pyramid_of
from clipaudit.copies.templates import template_candidates, template_of


def pictures():
    sign, ground = made.symbol("✈"), np.full((300, 400, 3), 90, np.uint8)
    return sign, made.pasted(sign, ground, (60, 150), 0.5)


def shown(matrix, rgb):
    return corners(pyramid_of(rgb)) @ matrix[:, :2].T + matrix[:, 2]


@pytest.mark.parametrize("swapped", [False, True])
def test_an_image_is_found_within_another(swapped):
    part, host = pictures()
    pair = (host, part) if swapped else (part, host)

    best = template_candidates(*(template_of(pyramid_of(rgb)) for rgb in pair))[0]

    matrix = inverted(best.to_second) if swapped else best.to_second
    np.testing.assert_allclose(shown(matrix, part)[0], (150, 60), atol=8)
    np.testing.assert_allclose(shown(matrix, part)[2], (250, 160), atol=8)


def test_a_mirrored_image_is_found():
    part, host = pictures()
    pair = np.ascontiguousarray(part[:, ::-1]), host

    best = template_candidates(*(template_of(pyramid_of(rgb)) for rgb in pair))[0]

    np.testing.assert_allclose(shown(best.to_second, part)[0], (250, 60), atol=8)


def test_uniform_images_are_not_found():
    plain = template_of(pyramid_of(np.full((60, 80, 3), 40, np.uint8)))

    assert template_candidates(plain, plain) == []


@pytest.mark.parametrize("height", range(280, 300))
def test_a_part_as_high_as_the_other_image_is_compared(height):
    sign, ground = made.symbol("✈"), np.full((height, 400, 3), 90, np.uint8)
    host = template_of(pyramid_of(made.pasted(sign, ground, (20, 150), 0.9)))

    assert template_candidates(template_of(pyramid_of(sign[:, :100])), host) is not None
    assert template_candidates(template_of(pyramid_of(sign)), host)[0].likeness > 0.9
