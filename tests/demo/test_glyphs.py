import unicodedata

import numpy as np

from clipaudit.config.worlds.glyph_settings import SYMBOLS
from clipaudit.demo.glyphs import BOX, Pose, box_of, lay, shape, symbols


def test_the_settings_know_the_number_of_classes():
    assert len(symbols()) == SYMBOLS


def test_names_are_distinct_lower_case_words():
    names = [symbol.name for symbol in symbols()]

    assert len(set(names)) == len(names)
    assert all(part.isascii() and part.islower() for name in names for part in name.split())


def test_every_symbol_is_a_named_character_of_the_font():
    missing = shape(chr(0x10FFFF), "fill").tobytes()  # the box drawn for a missing glyph

    for symbol in symbols():
        assert unicodedata.name(symbol.character)
        assert shape(symbol.character, "fill").tobytes() != missing


def test_no_two_symbols_have_the_same_shape():
    shapes = {shape(symbol.character, "fill").tobytes() for symbol in symbols()}

    assert len(shapes) == SYMBOLS


def test_every_shape_is_large_and_stays_within_the_margin():
    for symbol in symbols():
        square = shape(symbol.character, "fill").reshape(BOX + 2, BOX + 2)
        left, top, width, height = box_of(square / np.float32(255))

        assert 60 <= max(width, height) <= 122
        assert min(left, top) >= 2
        assert max(left + width, top + height) <= BOX


def test_an_upright_shape_at_its_own_size_is_unchanged():
    mask = lay("\u2693", Pose(BOX / 2, BOX / 2, BOX), BOX, "fill")

    square = shape("\u2693", "fill").reshape(BOX + 2, BOX + 2)[1:-1, 1:-1]
    np.testing.assert_array_equal(np.rint(mask * 255), square)


def test_an_angle_of_90_degrees_is_an_exact_quarter_turn():
    upright = lay("\u2658", Pose(32, 32, 50), 64, "fill")

    turned = lay("\u2658", Pose(32, 32, 50, angle=900), 64, "fill")

    np.testing.assert_allclose(turned, np.rot90(upright, -1), atol=0.02)


def test_parts_outside_the_image_are_lost():
    mask = lay("\u2693", Pose(200, 32, 40), 64, "fill")

    assert mask.max() == 0
    assert box_of(mask) == (0, 0, 0, 0)


def test_a_box_contains_the_solid_pixels():
    mask = np.zeros((8, 8), np.float32)
    mask[2:5, 3:4] = 0.5

    assert box_of(mask) == (3, 2, 1, 3)
