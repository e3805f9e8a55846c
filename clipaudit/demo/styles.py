"""Draws images in styles: one for each test set of the similarity paper.

* `photo`      filled, shaded symbols with a shadow on a coloured, clouded ground (val)
* `sketch`     bold dark outlines on white (ImageNet-Sketch)
* `r`          renditions: halftone, poster, neon outline or hatching (ImageNet-R)
* `a`          like photo, but pale, small, off centre, behind a bar (ImageNet-A)
* `v2`         photo with a wider spread of poses, colours and tones (ImageNet-V2)
* `objectnet`  turned by 12 to 50 degrees on a patterned ground (ObjectNet)
* `coarse`     light grey blocks on black (MNIST, the control that is unlike the others)

A style is a manner of posing the symbols and a way of painting their masks. The numbers are those
with which small models learned: sketches of a tenth more height and lines of five pixels at 128 are
bold enough to matter in a training set; thin ones were not.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float32, UInt8

from clipaudit.config.worlds.plant_settings import Style
from clipaudit.demo.backdrops import (
    Colour,
    Field,
    Painting,
    backdrop,
    colour,
    figure_and_ground,
    grid,
    ramp,
    shifted,
    soft_noise,
)
from clipaudit.demo.dice import Dice, cosine_sine
from clipaudit.demo.glyphs import Mask, Pose, Stroke, box_of, lay

Masks = Float32[np.ndarray, "objects side side"]
Pixels = UInt8[np.ndarray, "side side 3"]
Box = tuple[int, int, int, int]  # left, top, width and height, in pixels
Spot = tuple[float, float, float]  # centre x, y and height, in pixels

FRAME_LINE = 24  # the tone of the dark line within a frame, of 255


@dataclass(frozen=True)
class Manner:
    """How a style poses a symbol; spreads are standard deviations."""

    tilt: float = 0.0  # spread of the angle, degrees
    slant: float = 0.0  # spread of the shear and of the stretch
    stretches: bool = False
    height: tuple[float, float] = (1.0, 1.0)
    wander: float = 0.0  # farthest step off the spot, as a share of the side
    turn: tuple[float, float] | None = None  # instead of `tilt`: this far to either side


@dataclass(frozen=True)
class Painter:
    """One way to draw: the manner of posing, the stroke, the painting of the masks."""

    manner: Manner
    stroke: Stroke
    paint: Callable[[Masks, Dice], Painting]


@dataclass(frozen=True)
class Picture:
    """A drawn image and, for each symbol, the box of its visible part."""

    pixels: Pixels
    boxes: tuple[Box, ...]


def draw(style: Style, characters: Sequence[str], side: int, dice: Dice) -> Picture:
    """Draw one to five characters in a style; box n belongs to character n."""
    painter = dice.pick(painters()[style])
    spots = spread_out(len(characters), side, dice)
    poses = [_pose(painter.manner, spot, side, dice) for spot in spots]
    masks = [
        lay(character, pose, side, painter.stroke)
        for character, pose in zip(characters, poses, strict=True)
    ]
    image = painter.paint(np.stack(masks), dice)
    return Picture(to_pixels(image), tuple(box_of(mask) for mask in masks))


def frame(picture: Picture, dice: Dice) -> Picture:
    """Draw a frame over the edge of an image: a strong colour with a dark line at its inner side.

    Boxes are cut to the visible part. In an image of some 32 pixels, the frame may cover one of
    several symbols; its box is then that of an empty mask, all zeros.
    """
    side = len(picture.pixels)
    width = frame_width(side)
    columns, rows = grid(side)
    depth = np.minimum.reduce([columns, rows, side - 1 - columns, side - 1 - rows])[:, :, None]
    shade = colour(dice.uniform(), dice.uniform(0.8, 1), dice.uniform(0.75, 1))
    line = max(1, side // 64)
    wood = np.where(depth < width - line, to_pixels(shade[None, None]), np.uint8(FRAME_LINE))
    pixels: Pixels = np.where(depth < width, wood, picture.pixels)
    return Picture(pixels, tuple(_cut(box, width, side - width) for box in picture.boxes))


def frame_width(side: int) -> int:
    """Return how many pixels of an image's edge a frame covers: an eleventh of the side.

    >>> frame_width(64)
    6
    """
    return (side + 5) // 11


def _cut(box: Box, low: int, high: int) -> Box:
    left, top, width, height = box
    right, bottom = min(left + width, high), min(top + height, high)
    left, top = max(left, low), max(top, low)
    seen = left < right and top < bottom
    return (left, top, right - left, bottom - top) if seen else (0, 0, 0, 0)


def to_pixels(image: Painting) -> Pixels:
    """Return the image as bytes, clipped to 0 and 1."""
    return (np.clip(image, 0, 1) * np.float32(255)).astype(np.uint8)


def spread_out(count: int, side: int, dice: Dice) -> list[Spot]:
    """Draw the spots of one to five symbols that hardly touch one another."""
    if count == 1:
        around = 0.44, 0.56
        places, height = [(dice.uniform(*around), dice.uniform(*around))], (0.68, 0.88)
    elif count == 2:
        left = dice.uniform(0.2, 0.3)
        pair = [(left, dice.uniform(0.3, 0.7)), (left + 0.5, dice.uniform(0.3, 0.7))]
        upright = [(y, x) for x, y in pair]
        places, height = dice.pick([pair, upright]), (0.42, 0.5)
    else:
        places, height = _corners(count, dice), (0.38, 0.47) if count <= 4 else (0.32, 0.38)
    return [(side * x, side * y, side * dice.uniform(*height)) for x, y in places]


def _corners(count: int, dice: Dice) -> list[tuple[float, float]]:
    near, far = (0.27, 0.73) if count <= 4 else (0.2, 0.8)
    cells = [(near, near), (far, near), (near, far), (far, far)]
    if count == 5:
        cells.append((0.5, 0.5))
    chosen = dice.shuffled(cells)[:count]
    return [(x + dice.uniform(-0.04, 0.04), y + dice.uniform(-0.04, 0.04)) for x, y in chosen]


def _pose(manner: Manner, spot: Spot, side: int, dice: Dice) -> Pose:
    x, y, height = spot
    if manner.turn is None:
        degrees = dice.bell(manner.tilt)
    else:
        degrees = dice.pick([-1, 1]) * dice.uniform(*manner.turn)
    return Pose(
        x=x + side * dice.uniform(-manner.wander, manner.wander),
        y=y + side * dice.uniform(-manner.wander, manner.wander),
        height=height * dice.uniform(*manner.height),
        angle=dice.tenths(degrees),
        slant=dice.bell(manner.slant),
        stretch=max(0.6, 1 + dice.bell(manner.slant)) if manner.stretches else 1.0,
    )


# --- photo and its relatives -------------------------------------------------------------------


def _paint_photo(masks: Masks, dice: Dice) -> Painting:
    figure, ground = figure_and_ground(dice, 0.4)
    image = _solids(backdrop(masks.shape[-1], ground, dice), masks, figure, dice)
    return exposed(image, 0.02, dice)


def _paint_hard(masks: Masks, dice: Dice) -> Painting:
    """Paint `a`: figure and ground drawn together, and a bar across the symbol."""
    figure, ground = figure_and_ground(dice, 0.3)
    pale = ground + (figure - ground) * np.float32(dice.uniform(0.5, 0.8))
    image = _solids(backdrop(masks.shape[-1], ground, dice), masks, pale, dice)
    image = np.where(bar(masks.shape[-1], dice), ground * np.float32(0.8), image)
    return exposed(image, 0.03, dice)


def _paint_second(masks: Masks, dice: Dice) -> Painting:
    """Paint `v2`: like a photo, developed with another tone curve."""
    figure, ground = figure_and_ground(dice, 0.3)
    image = _solids(backdrop(masks.shape[-1], ground, dice), masks, figure, dice)
    pixels = to_pixels(exposed(image, 0.03, dice))
    developed: Painting = tone_curve(70 + dice.integer(71))[pixels]
    return developed


def _paint_odd(masks: Masks, dice: Dice) -> Painting:
    """Paint `objectnet`: on a pattern."""
    figure, ground = figure_and_ground(dice, 0.3)
    image = backdrop(masks.shape[-1], ground, dice, patterned=True)
    return exposed(_solids(image, masks, figure, dice), 0.03, dice)


def _solids(image: Painting, masks: Masks, figure: Colour, dice: Dice) -> Painting:
    """Paint shaded symbols with their shadows on the image; all but the first vary in colour."""
    side = len(image)
    step = max(1, side // 32)
    for number, mask in enumerate(masks):
        shade = figure if number == 0 else shifted(figure, dice, 0.2)
        cover = mask[:, :, None]
        shadow = np.zeros_like(cover)
        shadow[step:, step:] = cover[:-step, :-step]
        image = image * (1 - np.float32(0.3) * shadow)
        lit = 1 + np.float32(0.35) * (ramp(side, dice) - np.float32(0.5))
        clouds = (soft_noise(side, 8, dice) - np.float32(0.5)) * np.float32(0.12)
        image = image * (1 - cover) + (shade * lit + clouds) * cover
    return image


def exposed(image: Painting, spread: float, dice: Dice) -> Painting:
    """Vary the brightness and add grain: shared by all colours, and half as much per colour."""
    side = len(image)
    brightness = np.float32(dice.uniform(0.85, 1.1))
    grain = dice.grain(side, 1, spread) + dice.grain(side, 3, spread / 2)
    lit: Painting = image * brightness + grain
    return lit


def bar(side: int, dice: Dice) -> np.ndarray:
    """Return the mask of a straight bar, bool (side, side, 1), which hides part of a symbol."""
    width = side * dice.uniform(0.05, 0.08)
    cosine, sine = cosine_sine(dice.any_angle())
    columns, rows = grid(side)
    x = columns.astype(np.float32) - np.float32(side * dice.uniform(0.3, 0.7))
    y = rows.astype(np.float32) - np.float32(side * dice.uniform(0.3, 0.7))
    away = abs(x * np.float32(cosine) + y * np.float32(sine))
    return (away < np.float32(width / 2))[:, :, None]


@cache
def tone_curve(hundredths: int) -> Float32[np.ndarray, " 256"]:
    """Return the tone of each byte under a power in hundredths, in 255ths.

    It is rounded to bytes, as powers differ between libm versions; a test shows that none is at a
    border.
    """
    levels = [math.floor(255 * (level / 255) ** (hundredths / 100) + 0.5) for level in range(256)]
    # half a level more, so that truncating to bytes cannot fall below
    return (np.array(levels, np.float32) + np.float32(0.5)) / np.float32(255)


# --- sketches and renditions -------------------------------------------------------------------


def _paint_sketch(masks: Masks, dice: Dice) -> Painting:
    side = masks.shape[-1]
    paper = np.ones((side, side), np.float32)
    for mask in masks:
        paper = paper * (1 - np.float32(dice.uniform(0.85, 1.0)) * mask)
    grey = paper[:, :, None] * np.float32(dice.uniform(0.94, 1.0)) + dice.grain(side, 1, 0.015)
    return np.repeat(grey, 3, axis=2)


def _paint_halftone(masks: Masks, dice: Dice) -> Painting:
    figure, ground = figure_and_ground(dice, 0.35)
    columns, rows = grid(masks.shape[-1])
    pitch = max(2, masks.shape[-1] // 16)
    x, y = (
        (axis % pitch).astype(np.float32) - np.float32((pitch - 1) / 2) for axis in (columns, rows)
    )
    from_dot = np.sqrt(x * x + y * y) / np.float32(pitch)
    dots = np.clip((_joined(masks)[:, :, 0] * np.float32(0.85) - from_dot) * 6, 0, 1)
    image: Painting = ground + (figure - ground) * dots[:, :, None]
    return image


def _paint_poster(masks: Masks, dice: Dice) -> Painting:
    """Paint flat colours in four steps, with stripes behind."""
    figure, ground = figure_and_ground(dice, 0.35)
    columns, rows = grid(masks.shape[-1])
    stripes = ((columns + rows) // max(2, masks.shape[-1] // 12) % 2).astype(np.float32)
    cover = _joined(masks)
    striped = ground * (1 - np.float32(0.15) * stripes[:, :, None])
    image: Painting = np.floor((striped * (1 - cover) + figure * cover) * 4 + np.float32(0.5)) / 4
    return image


def _paint_neon(masks: Masks, dice: Dice) -> Painting:
    """Paint bright lines in the dark."""
    _, ground = figure_and_ground(dice, 0.35)
    dark = ground * np.float32(0.2)
    image: Painting = dark + (colour(dice.uniform(), 0.5, 1.0) - dark) * _joined(masks)
    return image


def _paint_hatched(masks: Masks, dice: Dice) -> Painting:
    figure, ground = figure_and_ground(dice, 0.35)
    columns, rows = grid(masks.shape[-1])
    hatching = ((columns - rows) // max(2, masks.shape[-1] // 24) % 2).astype(np.float32)
    ink = np.float32(0.55) + np.float32(0.45) * hatching[:, :, None]
    image: Painting = ground + (figure - ground) * (_joined(masks) * ink)
    return image


def _paint_coarse(masks: Masks, dice: Dice) -> Painting:
    """Paint light on black, like a coarse scan: each block has the mean of its mask."""
    side = masks.shape[-1]
    block = max(2, side // 20)
    ink = _blocks(_joined(masks)[:, :, 0], block)
    grey = ink * np.float32(dice.uniform(0.75, 1.0)) + dice.grain(side, 1, 0.015)[:, :, 0]
    return np.repeat(grey[:, :, None], 3, axis=2)


def _blocks(mask: Mask, block: int) -> Mask:
    """Return the mask with each block of pixels at the mean of its 256ths, summed as integers."""
    side = len(mask)
    count = -(-side // block)
    wide = np.zeros((count * block, count * block), np.int64)
    wide[:side, :side] = (mask * np.float32(256)).astype(np.int64)
    sums = wide.reshape(count, block, count, block).sum(axis=(1, 3))
    means = sums.astype(np.float32) / np.float32(256 * block * block)
    blocks: Mask = means.repeat(block, axis=0).repeat(block, axis=1)[:side, :side]
    return blocks


def _joined(masks: Masks) -> Field:
    joined: Field = masks.max(axis=0)[:, :, None]
    return joined


@cache
def painters() -> dict[Style, tuple[Painter, ...]]:
    """Return the painters of each style, one of which draws an image."""
    tilted = Manner(tilt=10, slant=0.1)
    turned = Manner(slant=0.1, stretches=True, turn=(12, 50))
    hard = Manner(8, 0.06, stretches=True, height=(0.75, 0.92), wander=0.06)
    second = Manner(9, 0.08, stretches=True, height=(0.85, 1.0))
    return {
        "photo": (Painter(Manner(6, 0.05, stretches=True), "fill", _paint_photo),),
        "sketch": (Painter(Manner(5, height=(1.1, 1.1)), "line", _paint_sketch),),
        "r": (
            Painter(tilted, "fill", _paint_halftone),
            Painter(tilted, "fill", _paint_poster),
            Painter(Manner(tilt=10), "line", _paint_neon),
            Painter(tilted, "fill", _paint_hatched),
        ),
        "a": (Painter(hard, "fill", _paint_hard),),
        "v2": (Painter(second, "fill", _paint_second),),
        "objectnet": (Painter(turned, "fill", _paint_odd),),
        "coarse": (Painter(Manner(6, 0.08), "fill", _paint_coarse),),
    }
