import math

import numpy as np
import pytest

from clipaudit.demo.dice import Dice, cosine_sine
from clipaudit.demo.styles import tone_curve

ULPS = 1e-12  # far more than what libm versions differ by


def far_from_a_border(value, decimals):
    """Rounding `value` gives the same even if it is computed a little differently."""
    scaled = value * 10**decimals
    return abs(scaled - math.floor(scaled) - 0.5) > ULPS * 10**decimals


def test_no_angle_is_near_a_rounding_border():
    for tenths in range(3600):
        angle = math.radians(tenths / 10)
        assert far_from_a_border(math.cos(angle), 6)
        assert far_from_a_border(math.sin(angle), 6)


def test_no_tone_is_near_a_rounding_border():
    powers = [(level / 255) ** (step / 100) for step in range(70, 141) for level in range(256)]

    assert all(far_from_a_border(255 * power, 0) for power in powers)


def test_a_tone_curve_with_power_one_changes_nothing():
    back = (tone_curve(100) * np.float32(255)).astype(np.uint8)

    np.testing.assert_array_equal(back, np.arange(256))


def test_cosine_and_sine_match_the_angle():
    for tenths in (-3599, -10, 0, 1, 450, 900, 1801, 7200):
        angle = math.radians(tenths / 10)
        expected = (math.cos(angle), math.sin(angle))
        assert cosine_sine(tenths) == pytest.approx(expected, abs=1e-6)


def test_addresses_that_join_to_the_same_text_give_different_streams():
    assert Dice("a", "b").uniform() != Dice("ab").uniform()
    assert Dice("a", 1).uniform() != Dice("a", "1").uniform()


def test_bell_draws_have_the_requested_spread():
    dice = Dice("bell")

    drawn = [dice.bell(2.0) for _ in range(20_000)]

    assert np.mean(drawn) == pytest.approx(0, abs=0.05)
    assert np.std(drawn) == pytest.approx(2, rel=0.03)


def test_grain_has_the_requested_spread():
    grain = Dice("grain").grain(64, 3, 0.05)

    assert grain.dtype == np.float32
    assert grain.mean() == pytest.approx(0, abs=0.002)
    assert grain.std() == pytest.approx(0.05, rel=0.03)


def test_weights_determine_the_shares():
    dice = Dice("weights")

    drawn = [dice.weighted({"x": 3.0, "y": 1.0}) for _ in range(4000)]

    assert drawn.count("x") / 4000 == pytest.approx(0.75, abs=0.03)


def test_the_order_of_weights_does_not_matter():
    one, other = Dice("same"), Dice("same")

    first = [one.weighted({"x": 3.0, "y": 1.0}) for _ in range(50)]

    assert first == [other.weighted({"y": 1.0, "x": 3.0}) for _ in range(50)]


def test_a_rate_of_zero_means_never_and_one_means_always():
    dice = Dice("rates")

    assert not any(dice.chance(0) for _ in range(1000))
    assert all(dice.chance(1) for _ in range(1000))


def test_shuffling_keeps_every_item_once():
    assert sorted(Dice("shuffle").shuffled(range(100))) == list(range(100))


def test_a_stream_is_pinned():
    """A changed literal means that every generated world has changed."""
    dice = Dice("pinned", 7)

    drawn = [dice.integer(1000), dice.integer(1000), dice.tenths(dice.bell(10))]

    assert drawn == [755, 317, -29]
