"""Converts a drawing's PNG for the shards: on white, RGB, its longer side at most 512 pixels.

The library's largest drawings have 169 million pixels. They are composed and averaged in bands, so
that little memory is needed besides the decoded image (4 bytes per pixel).
"""

import io
import struct
import warnings
from typing import NamedTuple

from PIL import Image

from clipaudit.corpora.images import FORMATS

LONGEST = 512  # pixels of the longer side
_BAND_PIXELS = 1 << 20  # composed at once: memory, never results
_PNG_HEAD = struct.Struct(">16sII")  # signature, length and name of IHDR; width; height
_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError)


class Reduced(NamedTuple):
    """An image's file, and its width and height before it was reduced (None: unknown)."""

    file: bytes
    width: int | None
    height: int | None
    refused: str  # why the file is the original one; "" if it was reduced


def reduced(data: bytes) -> Reduced:
    """Return an image on white as an RGB PNG of at most LONGEST pixels per side, never enlarged.

    A file that Pillow refuses (above 178,956,970 pixels, or damaged) is returned unchanged, with
    Pillow's message, so that the index drops it with its own reason. The pixels are the same on
    every machine, the bytes with the same zlib of Pillow.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns from half its limit on
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                image.load()
                width, height = image.size
                small = _on_white(image, max(1, max(width, height) // (2 * LONGEST)))
    except _DAMAGE as error:
        return Reduced(data, *_stated_size(data), str(error))
    small.thumbnail((LONGEST, LONGEST), reducing_gap=None)
    file = io.BytesIO()
    small.save(file, "PNG")
    return Reduced(file.getvalue(), width, height, "")


def _on_white(image: Image.Image, factor: int) -> Image.Image:
    """Return the image on white, each `factor` x `factor` square of pixels averaged."""
    width, height = image.size
    small = Image.new("RGB", (-(-width // factor), -(-height // factor)))
    rows = factor * max(1, _BAND_PIXELS // (width * factor))
    for top in range(0, height, rows):
        band = image.crop((0, top, width, min(top + rows, height)))
        small.paste(_composed(band).reduce(factor), (0, top // factor))
    return small


def _composed(image: Image.Image) -> Image.Image:
    if not image.has_transparency_data:
        return image.convert("RGB")
    above = image.convert("RGBA")
    white = Image.new("RGB", image.size, "white")
    white.paste(above, mask=above)
    return white


def _stated_size(data: bytes) -> tuple[int | None, int | None]:
    if len(data) < _PNG_HEAD.size or not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return None, None
    _, width, height = _PNG_HEAD.unpack_from(data)
    return width, height
