import colorsys

import numpy as np
import pytest
from PIL import Image

from clipaudit.demo.backdrops import (
    colour,
    enlarge,
    figure_and_ground,
    luminance,
    ramp,
    soft_noise,
)
from clipaudit.demo.dice import Dice


@pytest.mark.parametrize("hue", [0.0, 0.1, 0.3, 0.5, 0.7, 0.95])
def test_colours_equal_those_of_the_standard_library(hue):
    expected = colorsys.hsv_to_rgb(hue, 0.6, 0.8)

    assert colour(hue, 0.6, 0.8).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("cells", [3, 8, 10])
def test_enlarging_agrees_with_pillow_away_from_the_edges(cells):
    coarse = Dice("coarse", cells).octets(cells, cells)

    large = enlarge(coarse.astype(np.float32) / np.float32(255), 64) * 255

    pillow = np.asarray(Image.fromarray(coarse).resize((64, 64), Image.Resampling.BICUBIC))
    edge = 2 * 64 // cells
    inner = slice(edge, 64 - edge)
    np.testing.assert_allclose(large[inner, inner], pillow[inner, inner], atol=1.5)


def test_enlarging_a_flat_field_leaves_it_flat():
    flat = enlarge(np.full((5, 5), 0.25, np.float32), 48)

    np.testing.assert_allclose(flat, 0.25, atol=1e-6)


def test_figure_and_ground_differ_in_luminance():
    dice = Dice("contrast")

    for _ in range(200):
        figure, ground = figure_and_ground(dice, 0.4)
        assert abs(luminance(figure) - luminance(ground)) > 0.4


def test_ramps_and_clouds_stay_between_zero_and_one():
    dice = Dice("range")

    for field in (ramp(32, dice), soft_noise(32, 6, dice)):
        assert field.shape == (32, 32, 1)
        assert field.dtype == np.float32
        assert 0 <= field.min() < field.max() <= 1
