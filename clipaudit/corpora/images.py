"""Decodes a sample's image, or says why it cannot be used.

Index, embedding and training open images here, so that they agree on what an image is: the first
frame in RGB, as webdataset's `pilrgb` (what open_clip trains on) decodes it, without EXIF rotation
and without transparency. Only grey images of 16 bits differ: they keep their upper 8 bits, while
Pillow's conversion makes all but the darkest pixels white. The search for copies compares images as
pages show them, with their transparency. Pillow's warnings are silenced: they concern either
harmless oddities (EXIF, palettes) or images refused here.
"""

import io
import re
import struct
import warnings
import zlib
from typing import NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from clipaudit.corpora.reasons import ABSURD_SIZE, CORRUPT_IMAGE, UNREAD_FORMAT, Unusable

MAX_PIXELS = 89_478_485  # Pillow's own limit for strangers' files: 256 MiB as RGB
MIN_SIDE = 2  # pixels; a side of 1 is a spacer or tracking pixel of a web page
MAX_ASPECT = 400  # long by short side: at this, scaling the short side to 448 gives MAX_PIXELS
# Pillow knows some forty formats, one of which runs Ghostscript: read what the web serves. A JPEG
# that further ones follow in its file, which Pillow then calls "MPO", is a JPEG.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
_UNREAD = {  # how files of other formats begin; they may be named .jpg, as img2dataset names all
    "AVIF or HEIF": re.compile(rb".{4}ftyp(?:avi[fs]|hei[cxms]|hev[cx]|mi[fa][1f])", re.DOTALL),
    "TIFF": re.compile(rb"II\*\0|MM\0\*"),
    "JPEG 2000": re.compile(rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51"),
    "JPEG XL": re.compile(rb"\xff\x0a|\0\0\0\x0cJXL "),
}

# Errors that damaged files cause in Pillow, besides those that it raises on purpose. A million
# damaged files showed only ValueError, but one stray type in 400 million would end a job.
_STUMBLES = (
    ValueError,
    LookupError,
    ArithmeticError,
    EOFError,
    TypeError,
    struct.error,
    zlib.error,
)


class Picture(NamedTuple):
    """A decoded image; `format` is Pillow's name in lower case, sizes are in pixels."""

    rgb: Image.Image
    format: str
    width: int
    height: int


def open_picture(data: bytes, *, as_shown: bool = False) -> Picture:
    """Decode an image fully; raises Unusable, for absurd sizes before anything is unpacked.

    With `as_shown`, a transparent image is composed on white, or on black if it would be all white.
    Truncated files are refused; garbage in a JPEG's entropy-coded data is not always noticed, since
    such data decodes to some image.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                width, height = image.size
                _refuse_absurd(width, height)
                image.load()
                name = "JPEG" if image.format == "MPO" else image.format or ""
                plain = _eight_bits(image)
                transparent = as_shown and plain.has_transparency_data
                rgb = _composed(plain) if transparent else plain.convert("RGB")
        except UnidentifiedImageError:
            raise _unidentified(data) from None
        except Image.DecompressionBombError:
            raise Unusable(ABSURD_SIZE, f"more than {2 * MAX_PIXELS} pixels") from None
        except (OSError, SyntaxError) as error:  # with Pillow's own texts
            raise Unusable(CORRUPT_IMAGE, str(error)) from None
        except _STUMBLES as error:  # with texts that differ between versions of Python and zlib
            raise Unusable(CORRUPT_IMAGE, type(error).__name__) from None
    return Picture(rgb, name.lower(), width, height)


def _unidentified(data: bytes) -> Unusable:
    """Return why an image is in none of the FORMATS: it has another one, or is damaged."""
    name = next((name for name, begins in _UNREAD.items() if begins.match(data)), None)
    if name is not None:
        return Unusable(UNREAD_FORMAT, name)
    return Unusable(CORRUPT_IMAGE, f"{len(data)} bytes in no known format")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Return a grey image of 16 bits with the upper 8 bits of its values, and others unchanged."""
    if not image.mode.startswith("I;16"):
        return image
    return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))


def _composed(image: Image.Image) -> Image.Image:
    """Return an image on white, or on black if it would be all white."""
    front = image.convert("RGBA")
    for ground in ("white", "black"):
        shown = Image.alpha_composite(Image.new("RGBA", front.size, ground), front).convert("RGB")
        if shown.getextrema() != ((255, 255),) * 3:
            break
    return shown


def _refuse_absurd(width: int, height: int) -> None:
    """Raise Unusable for absurd sizes; it is not one of the errors of damaged files."""
    if width * height > MAX_PIXELS:
        problem = f"more than {MAX_PIXELS} pixels"
    elif min(width, height) < MIN_SIDE:
        problem = f"a side below {MIN_SIDE} pixels"
    elif max(width, height) > MAX_ASPECT * min(width, height):
        problem = f"an aspect ratio above {MAX_ASPECT}"
    else:
        return
    raise Unusable(ABSURD_SIZE, f"{width} x {height}: {problem}")
