import numpy as np
import pytest
from drawnimages import drawing

from clipaudit.copies.views import HALVES, WHOLE, reduced, train_views
from clipaudit.copies.views import test_views as all_views


def test_a_training_image_without_a_border_has_a_whole_view_and_halves():
    assert [name for name, _ in train_views(drawing(0))] == [WHOLE, *HALVES]


def test_a_border_is_trimmed():
    image = drawing(0)
    framed = np.pad(image, ((20, 20), (20, 20), (0, 0)), constant_values=0)

    views = dict(train_views(framed))

    assert np.array_equal(views["trimmed"], image)


def test_views_show_the_areas_of_their_names():
    image = drawing(0, (200, 100))

    views = dict(all_views(image))

    for name, area in {
        "top half": image[:50],
        "bottom half": image[50:],
        "left half": image[:, :100],
        "right half": image[:, 100:],
        "80% centre": image[10:90, 20:180],
        "60% bottom left": image[40:, :120],
        "76% top right": image[:76, 48:],
        "top 85%": image[:85],
        "right 90%": image[:, 20:],
        "centre square": image[:, 50:150],
        "mirrored, rotated by 90": np.rot90(image[:, ::-1]),
    }.items():
        assert np.array_equal(views[name], area), name


def test_views_of_a_test_image_have_unique_names():
    names = [name for name, _ in all_views(drawing(0))]

    assert len(set(names)) == len(names)
    assert {"whole", "mirrored", "rotated by 90", "80% centre", "bottom 90%"} <= set(names)


@pytest.mark.parametrize("size", [(2, 2), (2, 400), (3, 7)])
def test_views_of_tiny_and_narrow_images_have_at_least_two_pixels(size):
    image = np.zeros((*size, 3), np.uint8)
    image[0, 0] = 255

    assert all(min(view.shape[:2]) >= 2 for _, view in all_views(image))


def test_an_image_is_reduced_by_its_longer_side_and_never_enlarged():
    assert reduced(drawing(0, (200, 100)), 50).shape == (25, 50, 3)
    assert reduced(drawing(0, (20, 10)), 50).shape == (10, 20, 3)
