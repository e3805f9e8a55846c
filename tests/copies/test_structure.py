import copiesdrawings as made
import cv2
import numpy as np
import pytest

from clipaudit.copies.structure import (
    WINDOW,
    Windows,
    compared,
    equally_sharp,
    known_windows,
    sharpness,
)

EVERYWHERE = np.ones((60, 80), bool)


def canvas(seed, size=(60, 80)):
    return cv2.resize(made.texture(seed, (240, 320)), size[::-1]).astype(np.float32)


def test_equal_canvases_agree_everywhere():
    same = compared(Windows(canvas(0)), Windows(canvas(0)), EVERYWHERE)

    assert same.agreement == 1
    assert not same.differs.any()


def test_brightness_does_not_matter_but_contrast_does():
    assert compared(Windows(canvas(0)), Windows(canvas(0) + 40), EVERYWHERE).agreement == 1
    assert compared(Windows(canvas(0)), Windows(canvas(0) * 0.2), EVERYWHERE).agreement < 0.1


def test_a_uniform_background_agrees_with_nothing():
    one, two = np.full((2, 60, 80, 3), 255, np.float32)
    one[10:30, 10:30] = two[10:30, 50:70] = canvas(0)[:20, :20]

    different = compared(Windows(one), Windows(two), EVERYWHERE)

    assert different.agreement == 0
    assert not different.in_either[40:].any()


def test_structure_equals_a_loop_over_windows():
    one, reach = canvas(1), WINDOW // 2
    inner = slice(reach, -reach)

    found = compared(Windows(one), Windows(one), EVERYWHERE).in_first[inner, inner]

    windows = np.lib.stride_tricks.sliding_window_view(one, (WINDOW, WINDOW), axis=(0, 1))
    spread = windows.var(axis=(3, 4)).mean(axis=2)
    clear = np.abs(spread - 144) > 1  # float32 sums may decide the rest differently
    np.testing.assert_array_equal(found[clear], (spread > 144)[clear])


def test_faint_images_also_have_structure():
    faint = 128 + canvas(0) / 6

    assert compared(Windows(faint), Windows(faint), EVERYWHERE).in_first.mean() > 0.2


def test_known_windows_contain_no_outside_pixel():
    inside = EVERYWHERE.copy()
    inside[30, 40] = False

    assert (~known_windows(inside)).sum() == WINDOW**2


@pytest.mark.parametrize("sigma", [1.0, 2.5])
def test_the_sharper_canvas_is_blurred_to_match_the_other(sigma):
    soft = cv2.GaussianBlur(canvas(0), (0, 0), sigma)

    for one, two in (
        equally_sharp(Windows(canvas(0)), Windows(soft), EVERYWHERE),
        equally_sharp(Windows(soft), Windows(canvas(0)), EVERYWHERE),
    ):
        left, right = (sharpness(each.canvas, EVERYWHERE) for each in (one, two))
        assert left == pytest.approx(right, rel=0.35)


def test_an_empty_mask_has_no_sharpness():
    assert sharpness(canvas(0), ~EVERYWHERE) == 0
