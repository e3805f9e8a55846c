import io
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from clipaudit.demo.png import png_bytes, stored


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 5), (64, 64), (200, 200)])
def test_pillow_reads_the_same_pixels(height, width):
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)

    image = Image.open(io.BytesIO(png_bytes(pixels)))
    image.load()

    assert image.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(image), pixels)


@given(st.binary(max_size=200), st.sampled_from([0, 65535, 65536, 131070]))
def test_stored_data_inflates_to_the_original(data, more):
    data = data + bytes(more)

    assert zlib.decompress(stored(data), -15) == data
