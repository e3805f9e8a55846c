import hashlib
from itertools import pairwise

import numpy as np
import pytest
from drawnimages import drawing
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from clipaudit.copies.pdq import pdq

COSINES = [
    [
        np.float32(np.float32(32**-0.5).item() * np.cos(np.pi / 128 * k * n))
        for n in range(1, 128, 2)
    ]
    for k in range(1, 17)
]


def square(seed):
    return np.asarray(Image.fromarray(drawing(seed)).resize((64, 64)))


def noise(name, darkened=1):
    pixels = hashlib.shake_256(name).digest(64 * 64 * 3)
    return np.frombuffer(pixels, np.uint8).reshape(64, 64, 3) // darkened


def hills(down, along, darkened=1):
    rows, columns = np.mgrid[:64, :64]
    slopes = [
        abs((down * rows + along * columns + 40 * channel) % 510 - 255) for channel in (0, 1, 2)
    ]
    return (np.stack(slopes, axis=2) // darkened).astype(np.uint8)


@pytest.mark.parametrize(
    ("image", "code", "quality"),
    [  # by pdqhash 0.2.8, Meta's code; the last three lack frequencies, so rounding decides
        (noise(b"a"), "f15825f6009059e3d6b89bab6db5db4f633d4a115f574420c9468ded32b0b34b", 100),
        (
            noise(b"b", darkened=5),
            "7021936a0f6eb036710a8ee6ee053d607a3ac7839acf58adcdd971685a059de7",
            100,
        ),
        (
            noise(b"c", darkened=40),
            "f2c435d16ac35c1097d4df77f688b73d0cc276e5bb071ab45c8b240b887a491b",
            13,
        ),
        (hills(3, 7), "2209fbbb20097bbb2209abbbaa09abbb22097db3f10985b3ef09aa37aaa1aaab", 100),
        (hills(5, 2), "556a5fca001faab5aaa5000f555805521547abfcfffc2aa9aaabfffe04005555", 39),
        (
            hills(1, 4, darkened=2),
            "5a3666955a3666955a3666955a3666955a3666955a3666955a36969525b69965",
            0,
        ),
        (
            np.maximum(hills(3, 7), hills(3, 7)[:, ::-1]),
            "b60988b2a25888e3ea08fbf2aab9bab3a30808b78718f0a3af0ceb82beacbffa",
            100,
        ),
        (
            np.full((64, 64, 3), 200, np.uint8),
            "0000113411342c4b2c4b554b11342c4b00000000000000002c4b13a01134585e",
            0,
        ),
    ],
)
def test_hashes_are_those_of_metas_code(image, code, quality):
    codes, qualities = pdq(image[None])

    assert codes[0].tobytes().hex() == code
    assert qualities.tolist() == [quality]


def frequencies(rows):
    """Return the frequencies 1 to 16 of each column, added in the order of the rows."""

    def added(column, cosines):
        total = np.float32(0)
        for number, cosine in zip(column, cosines, strict=True):
            total += cosine * number
        return total

    return np.array([[added(column, cosines) for column in rows.T] for cosines in COSINES])


def step(one, other):
    return abs(int((one - other) * np.float32(100) / np.float32(255)))


@given(st.binary(min_size=1), st.integers(1, 120), st.booleans())
@settings(max_examples=30)
def test_bits_and_quality_follow_from_their_definition(name, darkened, mirrored):
    image = noise(name, darkened)
    image = np.maximum(image, image[:, ::-1]) if mirrored else image
    red, green, blue = (image[..., channel] for channel in (0, 1, 2))
    luma = (red * 0.299 + green * 0.587 + blue * 0.114).astype(np.float32)
    waves = frequencies(frequencies(luma).T).T.ravel()
    pairs = [pair for rows in (*luma, *luma.T) for pair in pairwise(rows)]

    [code], [quality] = pdq(image[None])

    above = waves > sorted(waves)[127]
    assert np.unpackbits(code).tolist() == above[::-1].tolist()
    assert quality == min(100, sum(step(*pair) for pair in pairs) // 90)


def test_a_hash_does_not_depend_on_the_other_images():
    images = np.stack([square(seed) for seed in range(7)])

    together = pdq(images)

    alone = [pdq(image[None]) for image in images]
    assert np.array_equal(together.codes, np.concatenate([each.codes for each in alone]))
    assert np.array_equal(together.qualities, np.concatenate([each.qualities for each in alone]))
