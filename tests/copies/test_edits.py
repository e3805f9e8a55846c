import copiesdrawings as made
import numpy as np
import pytest

from clipaudit.copies.edits import placed_edits
from clipaudit.copies.pyramids import inverted, pyramid_of

SHIFTED = np.array([[1.0, 0, 40], [0, 1, 30]])


def pairs():
    rgb = made.texture(0, (120, 160))
    wide = made.drawing(1, (180, 240)).copy()
    wide[30:150, 40:200] = rgb
    return {
        "bordered": np.pad(rgb, ((30, 30), (40, 40), (0, 0))),
        "overlaid": wide,
    }, rgb


@pytest.mark.parametrize("name", ["bordered", "overlaid"])
def test_the_surroundings_of_an_image_are_named(name):
    larger, rgb = pairs()
    pair = pyramid_of(rgb), pyramid_of(larger[name])

    assert placed_edits(*pair, SHIFTED) == {name}
    assert placed_edits(*pair[::-1], inverted(SHIFTED)) == {name}


def test_a_part_without_a_seam_is_cropped():
    whole = made.texture(0, (180, 240))
    part = np.ascontiguousarray(whole[30:150, 40:200])

    assert placed_edits(pyramid_of(part), pyramid_of(whole), SHIFTED) == {"cropped"}


def test_a_narrow_rim_is_not_named():
    rgb = pyramid_of(made.texture(0, (120, 160)))
    near = np.array([[1.01, 0, -1], [0, 1.01, -1]])

    assert placed_edits(rgb, rgb, near) == set()


@pytest.mark.parametrize(
    ("linear", "names"),
    [
        ([[-1, 0, 160], [0, 1, 0]], {"mirrored"}),
        ([[1, 0, 0], [0, -1, 120]], {"mirrored"}),  # top to bottom: not rotated as well
        ([[-1, 0, 160], [0, -1, 120]], {"rotated"}),
    ],
)
def test_mirroring_and_rotation_are_named(linear, names):
    rgb = pyramid_of(made.texture(0, (120, 160)))

    assert placed_edits(rgb, rgb, np.array(linear, np.float64)) == names
