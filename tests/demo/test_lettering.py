import numpy as np
import pytest

from clipaudit.config.worlds.glyph_settings import SMALLEST_LETTERED_SIDE
from clipaudit.demo.dice import Dice
from clipaudit.demo.glyphs import symbols
from clipaudit.demo.lettering import spoken_word, word_height, write_word


@pytest.mark.parametrize("side", [SMALLEST_LETTERED_SIDE, 64, 96])
def test_every_class_word_fits_inside(side):
    blank = np.full((side, side, 3), 100, np.uint8)

    for symbol in symbols():
        lettered = write_word(blank, spoken_word(symbol.name), Dice(symbol.name))

        changed = (lettered != blank).any(axis=2)
        assert changed.sum() > 10
        inner = changed[1:-1, 1:-1]
        assert changed.sum() == inner.sum()


def test_each_default_class_has_its_own_word():
    words = [spoken_word(symbol.name) for symbol in symbols()[:50]]

    assert len(set(words)) == 50


def test_letters_contrast_with_dark_and_bright_images():
    for grey in (20, 230):
        blank = np.full((64, 64, 3), grey, np.uint8)

        lettered = write_word(blank, "star", Dice("ink"))

        unlike = abs(lettered.astype(int) - grey) > 180
        assert unlike.all(axis=2).sum() > 20


def test_the_given_image_is_not_modified():
    blank = np.zeros((64, 64, 3), np.uint8)

    write_word(blank, "star", Dice("copy"))

    assert blank.max() == 0


def test_a_word_too_long_for_the_image_is_refused():
    blank = np.zeros((24, 24, 3), np.uint8)

    with pytest.raises(ValueError, match="'parallelogram' does not fit into an image of 24"):
        write_word(blank, "parallelogram", Dice("long"))


@pytest.mark.parametrize("place", ["edges", "anywhere"])
def test_words_stay_inside_at_every_position(place):
    blank = np.full((64, 64, 3), 100, np.uint8)

    for number in range(50):
        lettered = write_word(blank, "star", Dice(number), type_size=20 / 64, place=place)

        changed = (lettered != blank).any(axis=2)
        assert changed.sum() == changed[1:-1, 1:-1].sum() > 50


def test_the_height_is_that_of_the_letters_without_their_outline():
    blank = np.full((64, 64, 3), 100, np.uint8)

    lettered = write_word(blank, "Ill", Dice("height"), type_size=20 / 64)

    rows = np.flatnonzero((lettered == 255).all(axis=2).any(axis=1))
    assert rows[-1] - rows[0] + 1 == word_height("Ill", 64, type_size=20 / 64)
