"""Provides the symbols: their names, their shapes as masks, and masks placed in an image.

A class of the glyph world is one symbol of the DejaVu Sans font, which matplotlib ships.
`classes.tsv` has code point and name, one class per line; the line number is the label.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float32, UInt8
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from clipaudit.demo.dice import cosine_sine

READS = ("classes.tsv",)  # part of the code digest of modules that import this one

Stroke = Literal["fill", "line"]
Mask = Float32[np.ndarray, "side side"]

BOX = 128  # side of the square in which a shape is kept
SHAPE = 116  # the longer side of a character's cell in it, advance width included
BLUR_STEP = 0.05  # blur radii are rounded to it, so that blurred shapes can be kept
SHAPES_KEPT = 8192  # blurred shapes in memory, 68 kB each at most; two worlds' worth is ~1,500


@dataclass(frozen=True)
class Symbol:
    """One class: the character that is drawn and the name that captions use."""

    label: int
    character: str
    name: str


@dataclass(frozen=True)
class Pose:
    """The place and pose of a shape in an image; lengths in pixels, the angle in 0.1 degrees."""

    x: float
    y: float
    height: float
    angle: int = 0
    slant: float = 0.0
    stretch: float = 1.0


@cache
def symbols() -> tuple[Symbol, ...]:
    """Return all classes in the order of their labels.

    >>> symbols()[0].name
    'umbrella'
    """
    text = files("clipaudit.demo").joinpath("classes.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return tuple(
        Symbol(label, chr(int(code.removeprefix("U+"), 16)), name)
        for label, (code, name) in enumerate(rows)
    )


@cache
def font(size: int, face: str = "DejaVuSans") -> ImageFont.FreeTypeFont:
    """Return a DejaVu face in the plain layout, as the other one depends on system libraries."""
    found = find_spec("matplotlib")  # not imported, which takes longer than to draw an image
    assert found is not None, "a dependency of this package"
    path = Path(str(found.origin)).parent / "mpl-data" / "fonts" / "ttf" / f"{face}.ttf"
    return ImageFont.truetype(path, size, layout_engine=ImageFont.Layout.BASIC)


@lru_cache(SHAPES_KEPT)
def shape(
    character: str, stroke: Stroke, face: str = "DejaVuSans", blur: float = 0.0
) -> UInt8[np.ndarray, " padded"]:
    """Return a character's blurred shape in a padded square of `BOX` + 2 pixels per side, flat.

    `fill` is the bold shape, `line` its outline of five pixels, each at `BOX` pixels.
    """
    image = _stroked(character, stroke, face)
    if blur:
        image = image.filter(ImageFilter.BoxBlur(blur))
    return np.pad(np.asarray(image), 1).ravel()


@cache
def _stroked(character: str, stroke: Stroke, face: str) -> Image.Image:
    image = _fitted(character, face)
    if stroke == "fill":
        return image.filter(ImageFilter.MaxFilter(3))
    outer = np.asarray(image.filter(ImageFilter.MaxFilter(5)))
    inner = np.asarray(image.filter(ImageFilter.MinFilter(5)))
    return Image.fromarray(outer - inner)  # outer >= inner everywhere


def _fitted(character: str, face: str) -> Image.Image:
    """Draw a character at the size whose cell fills the square: no resampling, integers only."""
    left, top, right, bottom = extent(font(200, face), character)
    fitting = font(200 * SHAPE // max(right - left, bottom - top), face)
    left, top, right, bottom = extent(fitting, character)
    corner = ((BOX - right + left) // 2 - left, (BOX - bottom + top) // 2 - top)
    image = Image.new("L", (BOX, BOX))
    ImageDraw.Draw(image).text(corner, character, font=fitting, fill=255)
    return image


def extent(
    face: ImageFont.FreeTypeFont, text: str, *, stroke: int = 0
) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of a text, with strokes of that width around it."""
    left, top, right, bottom = map(int, face.getbbox(text, stroke_width=stroke))
    return left, top, right, bottom


def lay(character: str, pose: Pose, side: int, stroke: Stroke, face: str = "DejaVuSans") -> Mask:
    """Return the share of each pixel that a character covers, in [0, 1], in one resampling.

    The part outside the image is lost.
    """
    shrink = BOX / pose.height
    radius = (shrink - 1) / 2.2 if shrink > 1.6 else 0.0  # against jagged edges
    blurred = shape(character, stroke, face, int(radius / BLUR_STEP + 0.5) * BLUR_STEP)
    return lay_shape(blurred, pose, side)


def lay_shape(padded: UInt8[np.ndarray, " padded"], pose: Pose, side: int) -> Mask:
    """Return the share of each pixel that a shape, as `shape` returns it, covers."""
    u, v = _source(pose, side)
    return _between(padded, u, v)


def _source(pose: Pose, side: int) -> tuple[Mask, Mask]:
    """Return, for each pixel's centre, the place in the shape's square that it shows."""
    shrink = BOX / pose.height
    cosine, sine = cosine_sine(pose.angle)
    down_x, down_y = -sine * shrink / pose.stretch, cosine * shrink
    right_x = cosine * shrink / pose.stretch + pose.slant * down_x
    right_y = sine * shrink + pose.slant * down_y
    centre = np.arange(side, dtype=np.float32) + np.float32(0.5)
    x, y = centre[None, :] - np.float32(pose.x), centre[:, None] - np.float32(pose.y)
    middle = np.float32(BOX / 2 - 0.5)
    return (
        x * np.float32(right_x) + y * np.float32(right_y) + middle,
        x * np.float32(down_x) + y * np.float32(down_y) + middle,
    )


def _between(padded: UInt8[np.ndarray, " padded"], u: Mask, v: Mask) -> Mask:
    """Interpolate linearly between the four pixels around (u, v); zero outside the square."""
    width = BOX + 2
    u = np.clip(u + 1, 0, BOX + 0.999)
    v = np.clip(v + 1, 0, BOX + 0.999)
    column, row = u.astype(np.int32), v.astype(np.int32)
    right, down = u - column.astype(np.float32), v - row.astype(np.float32)
    at = row * width + column
    upper = padded[at] * (1 - right) + padded[at + 1] * right
    lower = padded[at + width] * (1 - right) + padded[at + width + 1] * right
    between: Mask = (upper * (1 - down) + lower * down) / np.float32(255)
    return between


def box_of(mask: Mask) -> tuple[int, int, int, int]:
    """Return the box of the pixels that are at least half covered: left, top, width, height.

    All zero if there is none.
    """
    solid = mask >= 0.5
    columns, rows = np.flatnonzero(solid.any(axis=0)), np.flatnonzero(solid.any(axis=1))
    if len(columns) == 0:
        return 0, 0, 0, 0
    left, top = int(columns[0]), int(rows[0])
    return left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1
