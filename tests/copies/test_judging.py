import copiesdrawings as made
import numpy as np

from clipaudit.copies.agreement import agreement, aligned
from clipaudit.copies.judging import NO_COPY, Judgement, judged
from clipaudit.copies.pyramids import pyramid_of

SAME = np.array([[1.0, 0, 0], [0, 1, 0]])


def judgement(one, two, placed=SAME):
    pair = pyramid_of(one), pyramid_of(two)
    return judged(*pair, placed, agreement(*pair, aligned(*pair, placed)))


def test_equal_images_are_copies_without_edits():
    assert judgement(made.drawing(0), made.drawing(0)) == Judgement(True, False, False)


def test_different_images_are_not_copies():
    assert judgement(made.drawing(0), made.drawing(1)) == NO_COPY


def test_a_bar_counts_as_an_overlay():
    rgb = made.texture(0)

    assert judgement(rgb, made.captioned(rgb)) == Judgement(True, True, False)


def test_content_of_low_richness_must_keep_its_colours():
    black, blue = made.symbol("●"), made.symbol("●").copy()
    blue[..., 2] = np.maximum(blue[..., 2], 200)
    blue[..., 0] = np.where(blue[..., 0] > 128, 120, 60)

    assert judgement(black, black).copied
    assert not judgement(black, blue).copied


def test_content_of_high_richness_may_change_its_colours():
    rgb = made.drawing(1, shapes=20)
    other = (rgb[..., [1, 0, 2]] * np.array([0.5, 0.9, 0.7]) + 20).astype(np.uint8)

    assert judgement(rgb, other) == Judgement(True, False, True)


def test_part_of_the_content_is_not_enough():
    rgb, other = made.drawing(0), made.drawing(0).copy()
    other[:, :170] = made.drawing(1)[:, :170]

    assert judgement(rgb, other) == NO_COPY
