"""Makes colours, gradients, soft noise and patterns for the styles.

Images are float32 in about [0, 1], (side, side, 3); a colour is float32 of shape (3,).
"""

from functools import cache

import numpy as np
from jaxtyping import Float32

from clipaudit.demo.dice import Dice, cosine_sine

Colour = Float32[np.ndarray, " 3"]
Field = Float32[np.ndarray, "side side 1"]
Painting = Float32[np.ndarray, "side side 3"]


def colour(hue: float, saturation: float, brightness: float) -> Colour:
    """Return the colour of a hue in [0, 1), a saturation and a brightness.

    >>> colour(0.0, 1.0, 1.0).tolist()
    [1.0, 0.0, 0.0]
    """
    sector = int(hue * 6)
    part = hue * 6 - sector
    low = brightness * (1 - saturation)
    falling = brightness * (1 - part * saturation)
    rising = brightness * (1 - (1 - part) * saturation)
    red_green_blue = (
        (brightness, rising, low),
        (falling, brightness, low),
        (low, brightness, rising),
        (low, falling, brightness),
        (rising, low, brightness),
        (brightness, low, falling),
    )[sector % 6]
    return np.array(red_green_blue, np.float32)


def luminance(shade: Colour) -> float:
    """Return the perceived brightness of a colour, in [0, 1]."""
    red, green, blue = (float(part) for part in shade)
    return 0.3 * red + 0.59 * green + 0.11 * blue


def figure_and_ground(dice: Dice, contrast: float) -> tuple[Colour, Colour]:
    """Draw two colours whose luminance differs by more than `contrast` (below 0.8)."""
    while True:
        figure = colour(dice.uniform(), dice.uniform(0.35, 1), dice.uniform(0.15, 1))
        ground = colour(dice.uniform(), dice.uniform(0, 0.6), dice.uniform(0.2, 1))
        if abs(luminance(figure) - luminance(ground)) > contrast:
            return figure, ground


def shifted(shade: Colour, dice: Dice, by: float) -> Colour:
    """Return a colour near `shade`: each part moved by up to `by`."""
    move = np.array([dice.uniform(-by, by) for _ in range(3)], np.float32)
    return np.clip(shade + move, 0, 1)


def ramp(side: int, dice: Dice) -> Field:
    """Return a gradient from 0 to 1 in a random direction."""
    cosine, sine = cosine_sine(dice.any_angle())
    along = np.arange(side, dtype=np.float32) / np.float32(side - 1) - np.float32(0.5)
    slope = along[None, :] * np.float32(cosine) + along[:, None] * np.float32(sine)
    return np.clip(slope + np.float32(0.5), 0, 1)[:, :, None]


def soft_noise(side: int, cells: int, dice: Dice) -> Field:
    """Return clouds: a field of `cells` x `cells` random values in [0, 1], enlarged."""
    coarse = dice.octets(cells, cells).astype(np.float32) / np.float32(255)
    return enlarge(coarse, side)[:, :, None]


def enlarge(
    small: Float32[np.ndarray, "cells cells"], side: int
) -> Float32[np.ndarray, "side side"]:
    """Return `small` enlarged by cubic interpolation, clipped to [0, 1].

    Sums run over the cells one by one, so their order is the same on every machine.
    """
    cells = len(small)
    weights = _cubic_weights(cells, side)
    tall = np.zeros((side, cells), np.float32)
    wide = np.zeros((side, side), np.float32)
    for cell in range(cells):
        tall += weights[:, cell, None] * small[None, cell, :]
    for cell in range(cells):
        wide += tall[:, cell, None] * weights[None, :, cell]
    return np.clip(wide, 0, 1)


@cache
def _cubic_weights(cells: int, side: int) -> Float32[np.ndarray, "side cells"]:
    """Return the weight of each cell for each pixel (Keys' kernel, a = -1/2); edges repeat."""
    weights = np.zeros((side, cells), np.float32)
    for pixel in range(side):
        place = (pixel + 0.5) * cells / side - 0.5
        first = int(place + 1) - 2  # int() of a positive number: the floor
        for cell in range(first, first + 4):
            distance = abs(place - cell)
            inside = min(max(cell, 0), cells - 1)
            weights[pixel, inside] += np.float32(_keys(distance))
    return weights


def _keys(distance: float) -> float:
    if distance < 1:
        return (1.5 * distance - 2.5) * distance * distance + 1
    if distance < 2:
        return ((-0.5 * distance + 2.5) * distance - 4) * distance + 2
    return 0.0


def grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the column and the row number of each pixel, int64 (side, side)."""
    rows, columns = np.mgrid[0:side, 0:side]
    return columns, rows


def pattern(side: int, dice: Dice) -> Field:
    """Return a checkerboard, diagonal stripes or level stripes of zeros and ones."""
    columns, rows = grid(side)
    width = max(2, (6 + dice.integer(10)) * side // 64)
    kind = dice.integer(3)
    if kind == 0:
        band = columns // width + rows // width
    elif kind == 1:
        band = (columns + rows) // width
    else:
        band = rows // width
    stripes: Field = (band % 2).astype(np.float32)[:, :, None]
    return stripes


def backdrop(side: int, ground: Colour, dice: Dice, *, patterned: bool = False) -> Painting:
    """Return a gradient around `ground` with soft noise, and with a pattern if `patterned`."""
    across = ramp(side, dice)
    image: Painting = ground * (1 - across) + shifted(ground, dice, 0.18) * across
    clouds = soft_noise(side, 3 + dice.integer(7), dice) - np.float32(0.5)
    image = image + clouds * np.float32(dice.uniform(0.05, 0.25))
    if patterned:
        bands = pattern(side, dice) - np.float32(0.5)
        image = image + bands * np.float32(dice.uniform(0.08, 0.18))
    return image
