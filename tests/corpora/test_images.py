import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from shardzoo import encode

from clipaudit.corpora import images
from clipaudit.corpora.images import open_picture
from clipaudit.corpora.reasons import Unusable

GOOD = {
    "jpeg": encode(),
    "cmyk": encode(mode="CMYK"),
    "grey": encode(mode="L"),
    "mpo": encode("MPO", save_all=True, append_images=[Image.new("RGB", (6, 5))]),
    "png": encode("PNG"),
    "16 bit": encode("PNG", mode="I;16"),
    "alpha": encode("PNG", mode="LA"),
    "palette": encode("PNG", mode="P", transparency=b"\0\x10"),
    "apng": encode("PNG", save_all=True, append_images=[Image.new("RGB", (6, 5), "red")]),
    "webp": encode("WEBP"),
    "animated webp": encode("WEBP", save_all=True, append_images=[Image.new("RGB", (6, 5), "red")]),
    "gif": encode("GIF", save_all=True, append_images=[Image.new("RGB", (6, 5), "red")]),
    "bmp": encode("BMP"),
}


@pytest.mark.parametrize("name", GOOD)
def test_images_become_rgb(name):
    picture = open_picture(GOOD[name])

    assert (picture.rgb.mode, picture.rgb.size) == ("RGB", (6, 5))
    assert (picture.width, picture.height) == (6, 5)


def test_grey_images_of_16_bits_keep_their_upper_8_bits():
    values = np.array([[0, 255, 256], [1000, 40_000, 65_535]], np.uint16)
    file = io.BytesIO()
    Image.fromarray(values).save(file, "PNG")

    rgb = np.asarray(open_picture(file.getvalue()).rgb)

    assert rgb[..., 0].tolist() == [[0, 0, 1], [3, 156, 255]]


@pytest.mark.parametrize(("colour", "shown"), [("black", (255, 0)), ("white", (0, 255))])
def test_a_transparent_image_is_shown_on_white_unless_it_is_white(colour, shown):
    icon = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    icon.paste(colour, (2, 2, 6, 6))
    out = io.BytesIO()
    icon.save(out, "PNG")

    rgb = open_picture(out.getvalue(), as_shown=True).rgb

    assert (rgb.getpixel((0, 0)), rgb.getpixel((3, 3))) == tuple((each,) * 3 for each in shown)
    assert open_picture(out.getvalue()).rgb.getpixel((0, 0)) == (0, 0, 0)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_an_image_without_transparency_is_shown_as_it_is_read(name):
    if not Image.open(io.BytesIO(GOOD[name])).has_transparency_data:
        assert open_picture(GOOD[name], as_shown=True) == open_picture(GOOD[name])


def test_formats_are_identified_by_content():
    names = {name: open_picture(data).format for name, data in GOOD.items()}

    assert [names[each] for each in ("jpeg", "cmyk", "mpo")] == ["jpeg"] * 3
    assert (names["png"], names["gif"]) == ("png", "gif")


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF", "BMP"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.95])
def test_truncated_images_are_corrupt(format, share):
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    out = encode(format, (64, 64)) if format == "GIF" else _encoded(noise, format)

    with pytest.raises(Unusable, match="corrupt image"):
        open_picture(out[: int(len(out) * share)])


def _encoded(pixels, format):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format)
    return out.getvalue()


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"<html></html>", b"%!PS-Adobe-3.0 EPSF-3.0\n"])
def test_data_that_is_not_an_image_is_corrupt(data):
    with pytest.raises(Unusable, match="corrupt image: "):
        open_picture(data)


@pytest.mark.parametrize(
    ("size", "detail"),
    [
        ((1, 100), "1 x 100: a side below 2"),
        ((1000, 2), "1000 x 2: an aspect ratio above 400"),
        ((101, 100), "101 x 100: more than 10000 pixels"),
    ],
)
def test_absurd_sizes_are_refused(size, detail, monkeypatch):
    monkeypatch.setattr(images, "MAX_PIXELS", 10_000)

    with pytest.raises(Unusable, match=f"absurd image size: {detail}"):
        open_picture(encode("PNG", size))


def bomb(width, height):
    """Return a PNG whose header claims `width` x `height` and whose data is a few bytes."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = encode("PNG")
    return body[:12] + head + struct.pack(">I", zlib.crc32(head)) + body[33:]


@pytest.mark.parametrize("side", [9_460, 15_000, 60_000])
def test_decompression_bombs_are_refused_by_their_header(side):
    with pytest.raises(Unusable, match=r"absurd image size: .*pixels"):
        open_picture(bomb(side, side))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_damaged_images_raise_no_other_error(name, data):
    damaged = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 5))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place] = data.draw(st.integers(0, 255))

    try:
        picture = open_picture(bytes(damaged))
    except Unusable:
        return

    assert picture.rgb.mode == "RGB"
    assert open_picture(bytes(damaged), as_shown=True).rgb.size == picture.rgb.size


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\0\0\0\x20ftypavif\0\0\0\0avifmif1", "AVIF or HEIF"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "AVIF or HEIF"),
        (encode("TIFF"), "TIFF"),
        (encode("JPEG2000"), "JPEG 2000"),
        (b"\xff\x0a\xfa\x1f", "JPEG XL"),
    ],
)
def test_an_image_of_a_format_that_is_not_read_is_not_called_corrupt(data, name):
    with pytest.raises(Unusable, match=f"^image format not read: {name}$"):
        open_picture(data)
