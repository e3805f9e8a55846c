from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from clipaudit.errors import InputError
from clipaudit.parrot.synthetic import (
    STYLES,
    Layout,
    Typeface,
    colour,
    dejavu_sans,
    ink,
    layout,
    render,
)

FACE = dejavu_sans()
texts = st.text(max_size=40) | st.lists(
    st.text("abWj.é\u0301漢", min_size=1, max_size=30), max_size=8
).map(" ".join)


def font(size):
    return ImageFont.truetype(BytesIO(FACE.data), size, layout_engine=ImageFont.Layout.BASIC)


def width(text, size):
    left, _, right, _ = font(size).getbbox(text)
    return right - left


def mask_of(text, side=224, type_size=32):
    return ink(layout(text, FACE, side=side, type_size=type_size), FACE, side=side)


def ink_box(mask):
    """The first and last row, then column, that have ink."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return (rows[0], rows[-1]), (columns[0], columns[-1])


@given(text=texts, side=st.sampled_from([16, 33, 64, 224]), type_size=st.sampled_from([5, 9, 32]))
def test_the_edges_of_the_image_have_no_ink(text, side, type_size):
    mask = mask_of(text, side, type_size)

    assert mask.shape == (side, side)
    assert not mask[[0, -1]].any()
    assert not mask[:, [0, -1]].any()


@example("..... CW WWWW J", 33)  # the J would be below the image
@given(text=texts, side=st.sampled_from([33, 224]))
def test_ink_is_centred(text, side):
    mask = mask_of(text, side)

    for first, last in ink_box(mask) if mask.any() else ():
        assert abs(first - (side - 1 - last)) <= 1


@given(text=texts, side=st.sampled_from([64, 224]))
def test_lines_have_all_characters_except_those_cut(text, side):
    placed = layout(text, FACE, side=side, type_size=32)

    whole, drawn = ("".join("".join(part).split()) for part in (text, placed.lines))
    assert whole.startswith(drawn)
    assert placed.cut == len(whole) - len(drawn)
    assert placed.cut == 0 or placed.type_size == 8


@given(text=texts)
def test_lines_are_no_wider_than_the_image(text):
    placed = layout(text, FACE)

    assert all(width(line, placed.type_size) <= 222 for line in placed.lines)


@given(word=st.text("aWj.-é", min_size=1, max_size=60))
def test_a_word_gets_the_largest_type_size_that_fits(word):
    fitting = [size for size in range(8, 33) if width(word, size) <= 222]

    placed = layout(word, FACE)

    assert placed.type_size == max(fitting, default=8)
    assert (len(placed.lines) == 1) == bool(fitting)


@given(words=st.lists(st.text("abcdef", min_size=1, max_size=9), min_size=1, max_size=5))
def test_a_line_has_as_many_words_as_fit(words):
    lines = layout(" ".join(words), FACE).lines

    assert " ".join(lines) == " ".join(words)
    for line, following in pairwise(lines):
        assert width(f"{line} {following.split()[0]}", 32) > 222


@given(text=st.text("abcdefgjÁ.'", min_size=1, max_size=9))
def test_letters_equal_those_of_the_font(text):
    page = Image.new("L", (500, 100))
    ImageDraw.Draw(page).text((50, 30), text, font=font(32), fill=255)

    mask = Image.fromarray(mask_of(text))

    assert mask.crop(mask.getbbox()).tobytes() == page.crop(page.getbbox()).tobytes()


@pytest.mark.parametrize("word", ["null", "nan", "NaN", "None", "NA", "true"])
def test_words_that_mean_missing_values_elsewhere_are_drawn(word):
    assert layout(word, FACE) == Layout((word,), 32, 0, 0)
    assert mask_of(word).any()


@pytest.mark.parametrize("text", ["", " ", "\n\t\u00a0", "\u200b"])
def test_text_without_ink_gives_a_blank_image(text):
    picture = render(text, "gray-black", FACE)

    np.testing.assert_array_equal(picture, np.full((224, 224, 3), 128, np.uint8))


def test_every_white_space_separates_words():
    assert layout("a\nb\u2003c  d ", FACE).lines == ("a b c d",)


def test_characters_missing_in_the_font_are_counted_and_drawn_as_its_box():
    assert layout("漢x漢 字", FACE).missing_glyphs == 3
    np.testing.assert_array_equal(mask_of("漢"), mask_of("字"))
    assert mask_of("漢").any()


def test_text_of_many_pages_is_cut_after_the_last_line():
    placed = layout("ab " * 3000, FACE)

    assert placed.cut == 6000 - sum(line.count("a") + line.count("b") for line in placed.lines)
    assert (len(placed.lines), placed.type_size) == (22, 8)  # lines of 10 pixels
    assert {len(line) for line in placed.lines} == {len(placed.lines[0])}


def test_no_text_is_drawn_after_the_cut():
    placed = layout("W" * 2000 + " i", FACE)

    assert "i" not in "".join(placed.lines)


@given(covered=st.integers(0, 255))
def test_styles_blend_background_and_letters(covered):
    mask = np.full((2, 2), covered, np.uint8)

    for style, (background, letters) in STYLES.items():
        exact = background + (letters - background) * covered / 255
        assert np.abs(colour(mask, style) - exact).max() <= 0.5


@pytest.mark.parametrize("style", STYLES)
def test_styles_show_the_same_letters_in_different_colours(style):
    mask, (background, letters) = mask_of("photo"), STYLES[style]

    picture = render("photo", style, FACE)

    assert (picture[mask == 0] == background).all()
    assert (picture[mask == 255] == letters).all()
    assert (picture[mask > 0].astype(int) != background).mean() > 0.95  # all but the faintest


def test_named_colours_match_the_styles():
    named = {"white": 255, "black": 0, "gray": 128}

    assert {name: tuple(named[part] for part in name.split("-")) for name in STYLES} == STYLES


def test_a_file_that_is_not_a_font_is_refused():
    with pytest.raises(InputError, match=r"the font of 4 bytes .* Give the file of a TrueType"):
        layout("a", Typeface(b"text"))
