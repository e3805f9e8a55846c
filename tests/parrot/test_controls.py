import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from clipaudit.corpora.images import open_picture
from clipaudit.errors import InputError
from clipaudit.parrot.controls import Lengths, WithoutText
from clipaudit.parrot.spans import Span, spans_table

WRITTEN = (20, 20, 60, 20, 60, 32, 20, 32)  # where the text of an image is
PLAIN = Lengths(radius=5.0, dilation=1.0, shorter_side=256)


def poster(format="PNG", size=(96, 80)):
    """A grey image with a black word."""
    picture = Image.new("RGB", size, (120, 120, 120))
    ImageDraw.Draw(picture).rectangle((20, 20, 60, 32), fill=(0, 0, 0))
    out = io.BytesIO()
    picture.save(out, format, quality=95)
    return out.getvalue()


@pytest.fixture
def without_text():
    """A function that makes an image file without its text: rows 1 and 7 of shard 2 were read."""
    spans = spans_table([(2, 1, []), (2, 7, [Span("word", 1.0, WRITTEN)])])
    return lambda image, row=7, lengths=PLAIN: WithoutText(spans, lengths)(2 << 32 | row, image)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP"])
def test_a_control_has_no_text_inside_the_mask_and_is_unchanged_outside(without_text, format):
    before = np.asarray(open_picture(poster(format)).rgb).astype(int)

    picture = open_picture(without_text(poster(format)))

    after = np.asarray(picture.rgb).astype(int)
    assert picture.format == format.lower()
    assert before[22:30, 24:56].max() < 20
    assert np.abs(after[22:30, 24:56] - 120).max() < 12
    assert np.abs(after[40:, :] - before[40:, :]).max() <= (6 if format == "JPEG" else 0)


def test_an_image_without_text_keeps_its_bytes(without_text):
    assert without_text(poster("JPEG"), row=1) == poster("JPEG")


def test_larger_images_with_text_are_reduced_as_for_scores(without_text):
    small = Lengths(radius=5.0, dilation=1.0, shorter_side=40)

    picture = open_picture(without_text(poster(), lengths=small))

    assert picture.rgb.size == (48, 40)
    assert np.asarray(picture.rgb).min() > 100


def test_a_sample_not_read_for_text_is_named(without_text):
    with pytest.raises(InputError, match=r"shard 2, row 8: .*was not read for text.*spans"):
        without_text(poster(), row=8)


def test_an_image_that_cannot_be_decoded_is_named(without_text):
    with pytest.raises(InputError, match=r"shard 2, row 7: .*cannot be decoded.*Make the set"):
        without_text(b"no image")
