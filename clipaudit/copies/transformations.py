"""Copies images in several ways, each with growing strengths, for the calibration.

The list follows the automatic transformations of DISC21 (Douze et al. 2021,
https://arxiv.org/abs/2106.09672), a benchmark of copy detection. We differ: strengths are fixed,
not drawn, so that recall can be reported by strength; there are no emoji and no noise. "stretched"
imitates downloaders that resize every image to one shape, "several at once" a reposted image.
"""

import hashlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from clipaudit.copies.overlays import (
    SMALLEST_SIDE,
    caption_bar,
    overlaid_text,
    pasted_on,
    scaled,
    screenshot,
)

INKS = ("black", "white", "gray")  # of drawn borders


class Strength(NamedTuple):
    """How strongly a copy is changed: a number, and its label."""

    value: float
    label: str


class Way(NamedTuple):
    """One transformation at one of its strengths."""

    transformation: str
    value: float
    label: str


def _strengths(form: str, *values: float) -> tuple[Strength, ...]:
    return tuple(Strength(value, form.format(value)) for value in values)


# The mildest first. Each maker below says what its number means.
TRANSFORMATIONS: Mapping[str, tuple[Strength, ...]] = MappingProxyType(
    {
        "jpeg": _strengths("quality {:g}", 70, 30, 10),
        "resize": _strengths("to {:.0%} of each side", 0.5, 0.25),
        "stretched": _strengths("{:g} times as wide", 1.15, 1.5),
        "crop": _strengths("{:.0%} of each side left", 0.9, 0.75, 0.5),
        "border": _strengths("{:.0%} of the short side", 0.05, 0.1, 0.25),
        "blur": _strengths("{:.1%} of the short side", 0.005, 0.01, 0.02),
        "brightness": _strengths("times {:g}", 0.75, 1.4, 0.5),
        "contrast": _strengths("times {:g}", 0.75, 1.4, 0.5),
        "grey": (Strength(1, "no colours"),),
        "channels swapped": (Strength(1, "blue for red"),),
        "mirror": (Strength(1, "left and right"), Strength(2, "top and bottom")),
        "rotation": _strengths("{:g} degrees", 3, 10, 90, 180),
        "overlaid text": (
            Strength(0.08, "a line of 8% of the height"),
            Strength(0.15, "a line of 15% of the height"),
            Strength(0.2, "two lines of 20% each"),
        ),
        "caption bar": _strengths("over {:.0%} of the height", 0.1, 0.2, 0.3),
        "on another image": _strengths("{:.0%} of its sides", 0.75, 0.5, 0.35),
        "screenshot": _strengths("{:.0%} of the frame's height", 0.8, 0.5),
        "several at once": (Strength(1, "mild"), Strength(2, "strong")),
    }
)

WAYS: tuple[Way, ...] = tuple(
    Way(name, *strength) for name, strengths in TRANSFORMATIONS.items() for strength in strengths
)


def made(
    transformation: str,
    value: float,
    rgb: UInt8[np.ndarray, "h w 3"],
    *,
    address: Sequence[int | str],
    other: UInt8[np.ndarray, "a b 3"] | None = None,
) -> UInt8[np.ndarray, "c d 3"]:
    """Return a copy of an image, made by a transformation at a strength of TRANSFORMATIONS.

    Random choices (the place of a crop, the colour of a border) depend on the transformation and
    on the address, such as (seed, shard, row), not on the strength: a stronger crop has about the
    same place as a milder one. `other` is the image that this one is pasted on; only "on another
    image" needs it, and then the result has the other's size. Images from 2 x 2 pixels up give
    images from 2 x 2 pixels up. Raises KeyError for an unknown transformation, ValueError for a
    missing `other`.

    >>> drawn = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    >>> made("crop", 0.5, drawn, address=(7, 0, 0)).shape
    (2, 2, 3)
    """
    digest = hashlib.sha256(json.dumps([transformation, *address]).encode()).digest()
    dice = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))
    image = Image.fromarray(np.ascontiguousarray(rgb))
    if transformation == "on another image":
        if other is None:
            raise ValueError(f"{transformation!r} needs another image, found none")
        return np.array(pasted_on(image, Image.fromarray(np.ascontiguousarray(other)), value, dice))
    return np.array(_MAKERS[transformation](image, value, dice))


def _jpeg(image: Image.Image, quality: float, _: np.random.Generator) -> Image.Image:
    """Encode with the quality of libjpeg, 1 to 100, and decode."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=int(quality))
    return Image.open(file).convert("RGB")


def _resize(image: Image.Image, share: float, _: np.random.Generator) -> Image.Image:
    return scaled(image, share, share)


def _stretched(image: Image.Image, factor: float, dice: np.random.Generator) -> Image.Image:
    """Widen by the factor, or make as much higher; the area stays."""
    wide, high = math.sqrt(factor), 1 / math.sqrt(factor)
    return scaled(image, wide, high) if dice.random() < 0.5 else scaled(image, high, wide)


def _crop(image: Image.Image, share: float, dice: np.random.Generator) -> Image.Image:
    """Keep this share of each side, anywhere."""
    width, height = (max(SMALLEST_SIDE, round(side * share)) for side in image.size)
    left = int(dice.random() * (image.width - width + 1))
    top = int(dice.random() * (image.height - height + 1))
    return image.crop((left, top, left + width, top + height))


def _border(image: Image.Image, share: float, dice: np.random.Generator) -> Image.Image:
    """Add a plain border on all sides, this share of the short side wide."""
    width = max(1, round(min(image.size) * share))
    return ImageOps.expand(image, width, INKS[int(dice.random() * len(INKS))])


def _blur(image: Image.Image, share: float, _: np.random.Generator) -> Image.Image:
    """Blur by a Gaussian whose standard deviation is this share of the short side."""
    return image.filter(ImageFilter.GaussianBlur(min(image.size) * share))


def _brightness(image: Image.Image, factor: float, _: np.random.Generator) -> Image.Image:
    return ImageEnhance.Brightness(image).enhance(factor)


def _contrast(image: Image.Image, factor: float, _: np.random.Generator) -> Image.Image:
    """Multiply the distance to the mean grey."""
    return ImageEnhance.Contrast(image).enhance(factor)


def _grey(image: Image.Image, _: float, __: np.random.Generator) -> Image.Image:
    return image.convert("L").convert("RGB")


def _channels_swapped(image: Image.Image, _: float, __: np.random.Generator) -> Image.Image:
    """Swap red and blue, as a program that mistakes RGB for BGR does."""
    red, green, blue = image.split()
    return Image.merge("RGB", (blue, green, red))


def _mirror(image: Image.Image, which: float, _: np.random.Generator) -> Image.Image:
    return ImageOps.mirror(image) if which == 1 else ImageOps.flip(image)


def _rotation(image: Image.Image, degrees: float, dice: np.random.Generator) -> Image.Image:
    """Rotate to either side; keep the largest upright rectangle of an oblique image."""
    signed = degrees if dice.random() < 0.5 else -degrees
    turned = image.rotate(signed, Image.Resampling.BICUBIC, expand=True)
    if degrees % 90 == 0:
        return turned
    width, height = _upright(image.width, image.height, math.radians(degrees))
    left, top = (turned.width - width) // 2, (turned.height - height) // 2
    return turned.crop((left, top, left + width, top + height))


def _upright(width: int, height: int, angle: float) -> tuple[int, int]:
    """Return the sides of the largest upright rectangle in one that is turned by 0 to 45 degrees.

    >>> _upright(100, 100, math.radians(45))
    (70, 70)
    """
    sine, cosine = math.sin(angle), math.cos(angle)
    long, short = max(width, height), min(width, height)
    if short <= 2 * sine * cosine * long:  # two corners touch the long sides
        half = short / 2
        sides = (half / sine, half / cosine) if width >= height else (half / cosine, half / sine)
    else:
        slant = cosine * cosine - sine * sine
        sides = (
            (width * cosine - height * sine) / slant,
            (height * cosine - width * sine) / slant,
        )
    return max(SMALLEST_SIDE, int(sides[0])), max(SMALLEST_SIDE, int(sides[1]))


def _several(image: Image.Image, which: float, dice: np.random.Generator) -> Image.Image:
    """Crop, reduce and encode (mild); crop more, darken, write on it, encode badly (strong)."""
    if which == 1:
        return _jpeg(_resize(_crop(image, 0.9, dice), 0.7, dice), 50, dice)
    darker = _brightness(_crop(image, 0.75, dice), 0.8, dice)
    return _jpeg(_resize(overlaid_text(darker, 0.12, dice), 0.5, dice), 30, dice)


_Maker = Callable[[Image.Image, float, np.random.Generator], Image.Image]
_MAKERS: Mapping[str, _Maker] = {
    "jpeg": _jpeg,
    "resize": _resize,
    "stretched": _stretched,
    "crop": _crop,
    "border": _border,
    "blur": _blur,
    "brightness": _brightness,
    "contrast": _contrast,
    "grey": _grey,
    "channels swapped": _channels_swapped,
    "mirror": _mirror,
    "rotation": _rotation,
    "overlaid text": overlaid_text,
    "caption bar": caption_bar,
    "screenshot": screenshot,
    "several at once": _several,
}
