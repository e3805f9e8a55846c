from typing import get_args

import numpy as np
import pytest

from clipaudit.config.worlds.plant_settings import Style
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.styles import draw, painters, spread_out

STYLES = get_args(Style)
CHARACTERS = [symbol.character for symbol in symbols()[:5]]


def test_every_style_has_a_painter():
    assert set(painters()) == set(STYLES)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("side", [24, 32, 48, 64])
def test_every_style_draws_at_every_size(style, side):
    for number in range(8):
        picture = draw(style, CHARACTERS[:1], side, Dice(style, number))

        assert picture.pixels.shape == (side, side, 3)
        assert picture.pixels.dtype == np.uint8
        assert picture.pixels.std() > 5


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_each_symbol_has_one_box_within_the_image(style, count):
    picture = draw(style, CHARACTERS[:count], 64, Dice(style, count))

    assert len(picture.boxes) == count
    for left, top, width, height in picture.boxes:
        assert width > 5
        assert height > 5
        assert left + width <= 64
        assert top + height <= 64


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_symbols_are_placed_apart(count):
    for number in range(30):
        spots = spread_out(count, 64, Dice("apart", number))
        for first, (x, y, _) in enumerate(spots):
            others = spots[first + 1 :]
            assert all(max(abs(x - u), abs(y - v)) > 64 * 0.2 for u, v, _ in others)


def test_sketches_are_grey_bold_lines_on_white():
    shares = []
    for number, symbol in enumerate(symbols()[:40]):
        pixels = draw("sketch", [symbol.character], 64, Dice("bold", number)).pixels
        assert np.ptp(pixels, axis=2).max() == 0
        assert np.median(pixels) > 200
        shares.append((pixels < 128).mean())

    assert np.mean(shares) > 0.08  # the prototype's bold sketches: 0.11; thin ones taught nothing


def test_all_four_renditions_occur():
    paints = {Dice("r", number).pick(painters()["r"]).paint for number in range(50)}

    assert len(paints) == 4


def test_objectnet_is_rotated_and_a_is_smaller_than_photo():
    def mean_height(style):
        drawn = [draw(style, ["\u25a3"], 64, Dice(style, n)).boxes[0] for n in range(60)]
        return np.mean([height for _, _, _, height in drawn])

    photo = mean_height("photo")

    assert mean_height("objectnet") > 1.1 * photo  # a turned square is higher
    assert mean_height("a") < 0.95 * photo
