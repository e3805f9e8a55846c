import copiesdrawings as made
import numpy as np
import pytest

from clipaudit.copies.colours import colour_maps, farther_than, mapped, named_residual
from clipaudit.copies.structure import Windows

EVERYWHERE = np.ones((60, 80), bool)
GREY = np.array([0.299, 0.587, 0.114], np.float32)


def canvas(seed=0):
    return made.texture(seed, (60, 80)).astype(np.float32)


CHANGES = {
    "channels": lambda rgb: rgb[..., [2, 0, 1]],
    "grey": lambda rgb: np.repeat((rgb @ GREY)[..., None], 3, axis=2),
    "brightness": lambda rgb: rgb * np.float32(0.6),
    "negative": lambda rgb: 255 - rgb,
}


@pytest.mark.parametrize("change", CHANGES)
def test_affine_colour_changes_are_found(change):
    changed = CHANGES[change](canvas())

    found = mapped(canvas(), colour_maps(canvas(), changed, EVERYWHERE)[0])

    np.testing.assert_allclose(found, changed, atol=3)


def test_a_part_in_other_colours_does_not_spoil_the_map():
    changed = CHANGES["channels"](canvas()).copy()
    changed[:12] = 0

    found = mapped(canvas(), colour_maps(canvas(), changed, EVERYWHERE)[0])

    assert np.abs(found[12:] - changed[12:]).mean() < 5


@pytest.mark.parametrize("change", CHANGES)
def test_known_changes_leave_almost_no_residual(change):
    assert named_residual(canvas(), CHANGES[change](canvas()), EVERYWHERE) < 0.02


def test_the_residual_is_the_colour_distance_relative_to_the_spread():
    one = canvas(0)[:20, :40]
    two = one + np.random.default_rng(0).normal(scale=10, size=one.shape).astype(np.float32)

    found = named_residual(one, two, EVERYWHERE[:20, :40])

    brightened = one * ((one * two).sum() / (one * one).sum())
    spread = max(np.sqrt(each.var(axis=(0, 1)).mean()) for each in (brightened, two))
    assert found == pytest.approx(np.sqrt(((brightened - two) ** 2).mean()) / spread, rel=1e-3)


def test_different_images_leave_a_large_residual():
    assert named_residual(canvas(0), canvas(1), EVERYWHERE) > 0.7


def test_a_contrast_change_is_not_a_known_change():
    ring = np.full((60, 80, 3), 255, np.float32)
    ring[20:40, 20] = ring[20:40, 60] = 0

    assert named_residual(ring, 200 + ring * (55 / 255), EVERYWHERE) > 0.5


def test_no_pixels_give_a_residual_of_zero():
    assert named_residual(canvas(0), canvas(1), ~EVERYWHERE) == 0


def test_windows_are_compared_by_their_mean_colour():
    other = canvas() + 30

    assert farther_than(Windows(canvas()), Windows(other), 20).all()
    assert not farther_than(Windows(canvas()), Windows(other), 40).any()
