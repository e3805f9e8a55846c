import copiesdrawings as made
import numpy as np
import pytest

from clipaudit.copies.overlaps import covered_shares, drawn_overlap, shared_polygon
from clipaudit.copies.pyramids import pyramid_of

SAME = np.array([[1.0, 0, 0], [0, 1, 0]])


def shifted(x, y):
    return SAME + np.array([[0, 0, x], [0, 0, y]])


def texture():
    return pyramid_of(made.texture(0))


def test_shares_are_relative_to_each_area():
    small = pyramid_of(made.texture(0)[:120, :150])

    assert covered_shares(texture(), small, SAME) == pytest.approx((0.25, 1))
    assert covered_shares(small, texture(), shifted(60, 0)) == pytest.approx((1, 0.25))


def test_disjoint_frames_have_no_overlap():
    assert shared_polygon(texture(), texture(), shifted(400, 0)) is None
    assert covered_shares(texture(), texture(), shifted(400, 0)) == (0, 0)
    assert drawn_overlap(texture(), texture(), shifted(0, 239), side=128, smoothing=0.5) is None


def test_both_canvases_show_the_same_content():
    part = pyramid_of(np.ascontiguousarray(made.texture(0)[40:200, 60:260]))

    overlap = drawn_overlap(texture(), part, shifted(-60, -40), side=128, smoothing=0.5)

    assert overlap.first.shape == overlap.second.shape
    assert max(overlap.first.shape) == 128
    np.testing.assert_allclose(overlap.first, overlap.second, atol=6)


def test_the_canvas_covers_the_content():
    margin = np.pad(made.texture(0), ((90, 90), (120, 120), (0, 0)), constant_values=255)

    overlap = drawn_overlap(pyramid_of(margin), pyramid_of(margin), SAME, side=64, smoothing=0.1)

    assert (np.ptp(overlap.first, axis=2) > 8).mean() > 0.7


@pytest.mark.parametrize("step", [1, 4])  # more pixels than the canvas has, and fewer
def test_a_known_overlap_saves_work_and_changes_no_result(step):
    pair = [pyramid_of(np.ascontiguousarray(made.texture(n)[::step, ::step])) for n in (0, 1)]
    known = drawn_overlap(*pair, shifted(3, 2), side=128, smoothing=0.8)

    again = drawn_overlap(*pair, shifted(3, 2), side=256, smoothing=0.5, known=known)
    anew = drawn_overlap(*pair, shifted(3, 2), side=256, smoothing=0.5)

    assert (again.drawn[0] is known.drawn[0]) == (step == 4)
    for name in ("first", "second", "inside", "to_first"):
        np.testing.assert_array_equal(getattr(again, name), getattr(anew, name))
