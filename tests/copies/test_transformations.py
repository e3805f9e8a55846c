import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipaudit.copies.transformations import TRANSFORMATIONS, WAYS, made

ADDRESS = (7, 0, 3)


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def drawing(side=64):
    """A smooth image whose pixel values depend on the position."""
    y, x = np.mgrid[:side, :side] * (255 / (side - 1))
    return np.stack([x, y, (x + y) / 2], axis=-1).astype(np.uint8)


def copy_of(rgb, name, value, address=ADDRESS):
    return made(name, value, rgb, address=address, other=noise(40, 60, 9))


def test_edits_are_distinct_and_at_most_45():
    assert len(WAYS) == len({(way.transformation, way.value) for way in WAYS}) <= 45
    assert len({(way.transformation, way.label) for way in WAYS}) == len(WAYS)


def test_every_transformation_has_one_to_four_strengths():
    assert all(1 <= len(strengths) <= 4 for strengths in TRANSFORMATIONS.values())


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_copy_differs_from_its_original(way):
    rgb = noise(48, 64)

    copy = copy_of(rgb, way.transformation, way.value)

    assert copy.dtype == np.uint8
    assert not np.array_equal(copy, rgb)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_same_address_gives_the_same_copy(way):
    rgb = noise(48, 64)
    before = rgb.copy()

    first, second = (copy_of(rgb, way.transformation, way.value) for _ in range(2))

    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(rgb, before)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("size", [(2, 2), (2, 300), (300, 2), (3, 5)])
def test_copies_of_tiny_and_narrow_images_are_images(way, size):
    copy = made(way.transformation, way.value, noise(*size), address=ADDRESS, other=noise(2, 2, 1))

    assert min(copy.shape[:2]) >= 2


@given(st.integers(2, 40), st.integers(2, 40), st.sampled_from(WAYS), st.integers(0, 9))
def test_images_of_any_size_can_be_copied(height, width, way, seed):
    copy = copy_of(noise(height, width, seed), way.transformation, way.value, (seed,))

    assert min(copy.shape[:2]) >= 2


@given(st.sampled_from([0.9, 0.75, 0.5]), st.integers(0, 99))
def test_a_crop_is_a_part_of_its_original(share, seed):
    rgb = drawing()

    copy = made("crop", share, rgb, address=(seed,))

    top, left = np.argwhere((rgb == copy[0, 0]).all(axis=-1))[0]
    height, width = copy.shape[:2]
    assert (height, width) == (round(64 * share), round(64 * share))
    np.testing.assert_array_equal(copy, rgb[top : top + height, left : left + width])


def test_another_address_gives_another_crop():
    copies = {made("crop", 0.5, drawing(), address=(seed,)).tobytes() for seed in range(8)}

    assert len(copies) > 4


def test_stronger_and_milder_borders_share_a_colour():
    mild, strong = (made("border", share, drawing(), address=ADDRESS) for share in (0.05, 0.25))

    np.testing.assert_array_equal(mild[0, 0], strong[0, 0])
    np.testing.assert_array_equal(strong[16:-16, 16:-16], drawing())


def test_mirroring_and_right_angles_only_move_pixels():
    rgb = noise(5, 7)

    np.testing.assert_array_equal(made("mirror", 1, rgb, address=ADDRESS), rgb[:, ::-1])
    np.testing.assert_array_equal(made("mirror", 2, rgb, address=ADDRESS), rgb[::-1])
    np.testing.assert_array_equal(made("rotation", 180, rgb, address=ADDRESS), rgb[::-1, ::-1])
    turned = made("rotation", 90, rgb, address=ADDRESS)
    assert any(np.array_equal(turned, np.rot90(rgb, k)) for k in (1, 3))


@pytest.mark.parametrize("size", [(64, 64), (40, 90), (90, 40), (16, 200)])
@pytest.mark.parametrize("degrees", [3, 10])
def test_an_oblique_rotation_shows_only_the_image(size, degrees):
    white = np.full((*size, 3), 255, np.uint8)

    copy = made("rotation", degrees, white, address=ADDRESS)

    assert copy[1:-1, 1:-1].min() > 250  # the outermost pixels may blend with the outside


def test_grey_has_no_colours_and_a_swap_exchanges_channels():
    rgb = noise(4, 4)

    grey = made("grey", 1, rgb, address=ADDRESS)

    assert (grey == grey[:, :, :1]).all()
    swapped = made("channels swapped", 1, rgb, address=ADDRESS)
    np.testing.assert_array_equal(swapped, rgb[:, :, ::-1])


def test_a_caption_bar_leaves_the_area_above_it_unchanged():
    rgb = noise(100, 80)

    copy = made("caption bar", 0.2, rgb, address=ADDRESS)

    np.testing.assert_array_equal(copy[:80], rgb[:80])
    assert len(np.unique(copy[80:85].reshape(-1, 3), axis=0)) == 1


def test_a_pasted_image_leaves_the_rest_of_the_background():
    white, black = np.full((30, 60, 3), 255, np.uint8), np.zeros((80, 80, 3), np.uint8)

    copy = made("on another image", 0.5, white, address=ADDRESS, other=black)

    assert copy.shape == black.shape
    assert (copy == 255).all(axis=-1).sum() == 40 * 20


def test_pasting_needs_a_background_image():
    with pytest.raises(ValueError, match="needs another image, found none"):
        made("on another image", 0.5, noise(8, 8), address=ADDRESS)


def test_a_screenshot_contains_the_image_unchanged():
    rgb = noise(60, 90)

    copy = made("screenshot", 0.5, rgb, address=ADDRESS)

    assert copy.shape == (120, 90, 3)
    np.testing.assert_array_equal(copy[24:84], rgb)


def test_text_leaves_most_of_the_image_unchanged():
    rgb = noise(200, 200)

    changed = [(copy_of(rgb, "overlaid text", s) != rgb).any(axis=-1).mean() for s in (0.08, 0.2)]

    assert 0 < changed[0] < changed[1] < 0.5


def test_an_unknown_transformation_is_refused():
    with pytest.raises(KeyError, match="sharpen"):
        made("sharpen", 1, noise(8, 8), address=ADDRESS)


def test_the_pixels_of_a_copy_are_pinned():
    """A changed literal means that every calibration uses different copies."""
    copy = made("border", 0.1, made("crop", 0.5, drawing(), address=(1,)), address=(1,))

    assert hashlib.sha256(copy.tobytes()).hexdigest()[:16] == "2f48e6ad698e0b1b"
