import copiesdrawings as made
import numpy as np
import pytest

from clipaudit.copies.agreement import aligned
from clipaudit.copies.alignment import TURNS, Turn, box_candidates, box_thumbs, refined
from clipaudit.copies.overlaps import corners
from clipaudit.copies.pyramids import pyramid_of


def moved(matrix, pyramid):
    return corners(pyramid) @ matrix[:, :2].T + matrix[:, 2]


def turned(rgb, turn):
    exchanged = rgb.transpose(1, 0, 2) if turn.exchanged else rgb
    return np.ascontiguousarray(exchanged[:: -1 if turn.flip_y else 1, :: -1 if turn.flip_x else 1])


@pytest.mark.parametrize("turn", TURNS, ids=str)
def test_each_rotation_is_found(turn):
    one, two = (pyramid_of(rgb) for rgb in (made.drawing(0), turned(made.drawing(0), turn)))

    best = box_candidates(box_thumbs(one), box_thumbs(two), 1)[0]

    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float64)
    expected = (unit @ turn.unit[:, :2].T + turn.unit[:, 2]) * two.size[::-1]
    np.testing.assert_allclose(moved(best.to_second, one), expected, atol=0.5)


def test_a_symmetric_image_is_not_rotated():
    ring = made.symbol("●")

    thumbs = [box_thumbs(pyramid_of(rgb)) for rgb in (ring, made.noisy(ring))]
    best = box_candidates(*thumbs, 1)[0]

    assert np.abs(best.to_second[:, :2] - np.eye(2)).max() < 0.1


def test_the_border_is_ignored():
    one, two = pyramid_of(made.drawing(1)), pyramid_of(made.framed(made.drawing(1), 25))

    best = box_candidates(box_thumbs(one), box_thumbs(two), 1)[0]

    np.testing.assert_allclose(best.to_second, [[1, 0, 25], [0, 1, 25]], atol=0.5)


def test_rotations_undo_themselves():
    thumb = np.random.default_rng(0).random((5, 5, 2), np.float32)

    for turn in TURNS:
        np.testing.assert_array_equal(turn.undone(turned(thumb, turn)), thumb)


def test_refinement_approaches_the_true_alignment():
    one = pyramid_of(made.texture(0))
    near = np.array([[1.0, 0, 3], [0, 1, -2]])
    overlap = aligned(one, one, near).overlap

    better = refined(overlap.first, overlap.second, overlap, near)

    np.testing.assert_allclose(better, [[1, 0, 0], [0, 1, 0]], atol=0.5)


def test_uniform_images_are_not_refined():
    plain = pyramid_of(np.full((60, 60, 3), 90, np.uint8))
    same = np.array([[1.0, 0, 0], [0, 1, 0]])
    overlap = aligned(plain, plain, same).overlap

    assert refined(overlap.first, overlap.second, overlap, same) is None


def test_the_simplest_rotation_comes_first():
    assert TURNS[0] == Turn(exchanged=False, flip_x=False, flip_y=False)
