"""The encoder by thumbnails."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from clipaudit.errors import ConfigError
from clipaudit.models.thumbnails import Thumbnails

ROOT = Path(__file__).parents[2]


def blocks(values, side=10):
    """An image of 2 x 2 grey blocks."""
    grey = np.kron(np.array(values, np.uint8).reshape(2, 2), np.ones((side, side), np.uint8))
    return np.repeat(grey[:, :, None], 3, axis=2)


def cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


def test_a_thumbnail_is_the_mean_of_each_block_less_the_overall_mean():
    (found,) = Thumbnails(side=2, device="cpu").embed([blocks([0, 100, 200, 100])])

    expected = np.repeat([-100, 0, 100, 0], 3)
    np.testing.assert_array_equal(found, [*expected, 1])


def test_size_and_brightness_do_not_change_the_embedding():
    values = np.array([0, 100, 50, 150])

    small, large, bright = Thumbnails(side=2, device="cpu").embed(
        [blocks(values), blocks(values, side=32), blocks(values + 100)]
    )

    np.testing.assert_array_equal(small, large)
    np.testing.assert_array_equal(small, bright)


def test_the_negative_of_an_image_is_the_least_similar_one():
    values = np.array([0, 100, 200, 100])

    picture, negative = Thumbnails(side=2, device="cpu").embed(
        [blocks(values), blocks(200 - values)]
    )

    assert cosine(picture, negative) < -0.999


def test_blank_images_are_similar_only_to_each_other():
    black, grey, noise = Thumbnails(device="cpu").embed(
        [
            blocks([0] * 4),
            blocks([90] * 4),
            np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8),
        ]
    )

    assert cosine(black, grey) == 1
    assert abs(cosine(black, noise)) < 0.01


@pytest.mark.parametrize("side", [1, 65, 8.0, "8", True])
def test_an_invalid_side_of_a_thumbnail_is_refused(side):
    with pytest.raises(
        ConfigError, match=r"options\.side: .*; give a number of pixels from 2 to 64"
    ):
        Thumbnails(side=side, device="cpu")


def test_the_settings_name_the_encoder_pillow():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "entry-points"
    ]

    assert declared["clipaudit.encoders"]["pillow"] == "clipaudit.models.thumbnails:Thumbnails"
