import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from clipaudit.corpora.places import places
from clipaudit.parrot.erasing import donors, erase, mask_of, scaled, scaled_length

corners = st.integers(-6, 18)
boxes = st.tuples(corners, corners, corners, corners)


@st.composite
def masked_pictures(draw):
    shape = draw(array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12))
    return draw(arrays(np.uint8, (*shape, 3))), draw(arrays(np.bool_, shape))


def outline(left, top, right, bottom):
    return (left, top, right, top, right, bottom, left, bottom)


@given(st.lists(boxes, max_size=3), st.integers(2, 9), st.integers(2, 9), st.integers(0, 3))
def test_the_mask_of_boxes_equals_a_loop_over_pixels(drawn, height, width, dilation):
    mask = mask_of([outline(*box) for box in drawn], height, width, dilation=dilation)

    for y, x in np.ndindex(height, width):
        near = [
            min(left, right) - dilation <= x <= max(left, right) + dilation
            and min(top, bottom) - dilation <= y <= max(top, bottom) + dilation
            for left, top, right, bottom in drawn
        ]
        assert mask[y, x] == any(near)


def test_the_mask_of_a_triangle_has_its_outline_and_inside():
    mask = mask_of([(0, 0, 4, 0, 0, 4)], 5, 5, dilation=0)

    np.testing.assert_array_equal(mask, np.add.outer(np.arange(5), np.arange(5)) <= 4)


@pytest.mark.parametrize(
    ("polygon", "covered"),
    [
        ((2, 1, 2, 1, 2, 1), 1),  # a point
        ((1, 1, 3, 1, 2, 1), 3),  # a line
        ((1.4, 0.6, 1.4, 0.6, 1.4, 0.6), 1),
        (outline(-1e12, -1e12, 1e12, 1e12), 20),
        (outline(-1e12, -1e12, -9, 1e12), 0),
    ],
)
def test_a_mask_accepts_any_polygon(polygon, covered):
    mask = mask_of([polygon], 4, 5, dilation=0)

    assert mask.sum() == covered


@given(masked_pictures(), st.integers(1, 5))
def test_no_pixel_outside_the_mask_changes(masked, radius):
    pixels, mask = masked
    mask[0, 0] = False  # something must be known

    erased = erase(pixels, mask, radius=radius)

    np.testing.assert_array_equal(erased[~mask], pixels[~mask])


@given(masked_pictures())
def test_erased_pixels_do_not_depend_on_their_former_values(masked):
    pixels, mask = masked
    other = np.where(mask[..., None], 255 - pixels, pixels)
    mask[0, 0], other[0, 0] = False, pixels[0, 0]

    np.testing.assert_array_equal(erase(pixels, mask, radius=3), erase(other, mask, radius=3))


def test_an_empty_mask_does_not_change_the_image():
    pixels = np.random.default_rng(0).integers(0, 256, (8, 9, 3), np.uint8)

    erased = erase(pixels, np.zeros((8, 9), bool), radius=5)

    np.testing.assert_array_equal(erased, pixels)


def test_a_mask_of_the_whole_image_gives_the_mean_colour():
    pixels = np.array([[[0, 10, 255], [1, 20, 255]]], np.uint8)

    erased = erase(pixels, np.ones((1, 2), bool), radius=5)

    assert erased.tolist() == [[[1, 15, 255]] * 2]  # 0.5 is rounded up


def test_letters_on_a_uniform_background_vanish():
    ground = np.full((40, 60, 3), (200, 180, 90), np.uint8)
    pixels = ground.copy()
    pixels[10:20, 15:40:3] = 0

    erased = erase(pixels, mask_of([outline(15, 10, 40, 19)], 40, 60, dilation=1), radius=5)

    np.testing.assert_allclose(erased.astype(int), ground.astype(int), atol=2)


def test_erasing_does_not_modify_its_arguments():
    pixels = np.random.default_rng(0).integers(0, 256, (8, 9, 3), np.uint8)
    pixels.flags.writeable = False
    mask = np.zeros((8, 9), bool)
    mask[2:5, 2:5] = True
    mask.flags.writeable = False

    assert (erase(pixels, mask, radius=2)[mask] != pixels[mask]).any()


def test_scaled_polygons_keep_their_share_of_the_image():
    moved = scaled([outline(2, 3, 10, 6), (0, 0, 20, 0, 20, 6)], (6, 20), (60, 10))

    assert moved == [outline(1, 30, 5, 60), (0, 0, 10, 0, 10, 60)]


@pytest.mark.parametrize(
    ("length", "height", "width", "pixels"),
    [(5, 224, 300, 5), (5, 448, 300, 7), (1, 20, 20, 1), (1, 336, 336, 2), (0, 900, 900, 0)],
)
def test_lengths_scale_with_the_shorter_side(length, height, width, pixels):
    assert scaled_length(length, height, width) == pixels


@given(st.dictionaries(st.integers(0, 50), st.booleans(), max_size=12), st.integers(0, 5))
def test_donors_equal_those_of_a_plain_draw(has, seed):
    rows = np.array(list(has), np.int32)

    found = donors(rows, np.array(list(has.values()), bool), shard=3, seed=seed)

    draws = places(np.full(len(rows), 3, np.int32), rows, seed=seed)
    for row, draw, donor in zip(rows.tolist(), draws.tolist(), found.tolist(), strict=True):
        others = sorted(other for other in has if has[other] and other != row)
        assert donor == (others[draw % len(others)] if others else -1)


def test_every_other_row_can_be_drawn():
    rows, has = np.arange(4, dtype=np.int32), np.ones(4, bool)

    found = [donors(rows, has, shard=0, seed=seed).tolist() for seed in range(60)]

    drawn = [set(of_row) for of_row in zip(*found, strict=True)]
    assert drawn == [{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}]


def test_donors_differ_between_shards():
    rows, has = np.arange(50, dtype=np.int32), np.ones(50, bool)

    one, other = (donors(rows, has, shard=shard, seed=0) for shard in (0, 1))

    assert (one != other).sum() > 25


def test_the_fill_mean_replaces_text_by_the_mean_colour_of_the_rest():
    pixels = np.zeros((6, 8, 3), np.uint8)
    pixels[:, 4:] = (100, 200, 40)
    mask = mask_of([outline(1, 1, 3, 3)], 6, 8, dilation=0)

    erased = erase(pixels, mask, radius=5, fill="mean")

    rest = (pixels[~mask].mean(axis=0) + 0.5).astype(np.uint8)
    assert (erased[mask] == rest).all()
    assert (erased[~mask] == pixels[~mask]).all()
