import io
import random

import numpy as np
import pytest
from PIL import Image
from tinyclipart import huge_png, png

from clipaudit.demo.clipart import pictures
from clipaudit.demo.clipart.pictures import reduced


def pixels(file):
    with Image.open(io.BytesIO(file)) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.array(image)


def saved(image, **options):
    file = io.BytesIO()
    image.save(file, "PNG", **options)
    return file.getvalue()


@pytest.mark.parametrize(
    ("colour", "seen"),
    [
        ((1, 2, 3, 255), (1, 2, 3)),
        ((1, 2, 3, 0), (255, 255, 255)),
        ((0, 0, 0, 51), (204, 204, 204)),
    ],
)
def test_transparent_colours_are_drawn_on_white(colour, seen):
    small = reduced(png(colour))

    assert (pixels(small.file) == seen).all()
    assert small[1:] == (6, 4, "")


def test_images_with_one_transparent_palette_entry_are_drawn_on_white():
    image = Image.new("P", (2, 2), 1)
    image.putpalette([9, 9, 9, 0, 128, 0])
    image.putpixel((0, 0), 0)

    seen = pixels(reduced(saved(image, transparency=0)).file)

    assert seen[0, 0].tolist() == [255, 255, 255]
    assert seen[1, 1].tolist() == [0, 128, 0]


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGB"])
def test_every_mode_becomes_rgb(mode):
    assert pixels(reduced(saved(Image.new(mode, (3, 2)))).file).shape == (2, 3, 3)


@pytest.mark.parametrize(
    ("size", "becomes"),
    [((512, 3), (512, 3)), ((513, 9), (512, 9)), ((700, 1400), (256, 512)), ((5000, 2), (512, 1))],
)
def test_only_images_longer_than_512_are_reduced(size, becomes):
    small = reduced(png(size=size))

    assert pixels(small.file).shape[1::-1] == becomes
    assert (small.width, small.height) == size


@pytest.mark.parametrize("size", [(2100, 60), (61, 3333)])
def test_splitting_into_bands_changes_no_pixel(monkeypatch, size):
    noise = random.Random(0).randbytes(4 * size[0] * size[1])
    data = saved(Image.frombytes("RGBA", size, noise))
    whole = reduced(data)

    monkeypatch.setattr(pictures, "_BAND_PIXELS", 1)

    assert reduced(data) == whole


@pytest.mark.parametrize(
    ("data", "size", "words"),
    [
        (huge_png(16000, 14464), (16000, 14464), "exceeds limit of 178956970 pixels"),
        (b"no picture", (None, None), "cannot identify image file"),
        (b"", (None, None), "cannot identify image file"),
        (png(size=(300, 300))[:-40], (300, 300), "image file is truncated"),
    ],
)
def test_an_unreadable_file_is_returned_unchanged(data, size, words):
    small = reduced(data)

    assert small.file == data
    assert (small.width, small.height) == size
    assert words in small.refused
