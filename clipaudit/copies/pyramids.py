"""Reduces images to falling sizes, and draws parts on a small canvas through an affine map.

Coordinates are continuous: a pixel covers a unit square, and the middle of the first one is at
(0.5, 0.5). All coordinates are in the frame of the largest level.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from jaxtyping import Bool, Float32, Float64, UInt8

from clipaudit.copies.borders import Box, content_box
from clipaudit.copies.structure import Windows, compared

FRAME_SIDE = 512  # pixels: larger images are reduced to this longer side before anything else
LEAST_SIDE = 8  # pixels: smaller levels are not informative
CONTENT_SIDE = 128  # pixels at which content is counted

Affine = Float64[np.ndarray, "2 3"]


@dataclass(frozen=True, eq=False)
class Pyramid:
    """An image at falling sizes, each level half as large as the one before."""

    levels: tuple[UInt8[np.ndarray, "_ _ 3"], ...]
    content: Box  # the part inside the borders of the largest level
    reduction: float  # pixels of the largest level by pixels of the original image

    @property
    def size(self) -> tuple[int, int]:
        """Return height and width of the largest level: the frame of coordinates."""
        height, width = self.levels[0].shape[:2]
        return height, width

    @cached_property
    def structured(self) -> Bool[np.ndarray, "a b"]:
        """Return which windows have structure, at CONTENT_SIDE."""
        level = self.level_near(max(self.size) / CONTENT_SIDE)
        windows = Windows(level.astype(np.float32))
        return compared(windows, windows, np.ones(level.shape[:2], bool)).in_first

    def level_near(self, step: float) -> UInt8[np.ndarray, "a b 3"]:
        """Return the level whose pixels are closest to `step` pixels of the frame wide."""
        number = math.floor(math.log2(min(max(step, 1e-9), 1e9)) + 0.5)
        return self.levels[min(max(number, 0), len(self.levels) - 1)]


def pyramid_of(rgb: UInt8[np.ndarray, "h w 3"]) -> Pyramid:
    """Return the levels of an image, the first with a longer side of at most 512 pixels."""
    height, width = rgb.shape[:2]
    level = _resized(np.ascontiguousarray(rgb), min(1.0, FRAME_SIDE / max(height, width)))
    levels = [level]
    while min(level.shape[:2]) >= 2 * LEAST_SIDE:
        level = _resized(level, 0.5)
        levels.append(level)
    reduction = max(levels[0].shape[:2]) / max(height, width)
    return Pyramid(tuple(levels), content_box(levels[0]), reduction)


def _resized(rgb: UInt8[np.ndarray, "h w 3"], scale: float) -> UInt8[np.ndarray, "a b 3"]:
    if scale == 1:
        return rgb
    height, width = (max(1, round(side * scale)) for side in rgb.shape[:2])
    return np.asarray(cv2.resize(rgb, (width, height), interpolation=cv2.INTER_AREA))


def drawn(
    pyramid: Pyramid, to_frame: Affine, size: tuple[int, int], step: float
) -> tuple[Float32[np.ndarray, "a b 3"], UInt8[np.ndarray, "a b"]]:
    """Return a canvas drawn from an image, and where it is inside the image (1, else 0).

    `to_frame` maps coordinates of the canvas to the image's frame, `size` is height and width of
    the canvas. Details up to `step` wide, in pixels of the frame, may be lost.
    """
    level = pyramid.level_near(step)
    height, width = pyramid.size
    scale = np.array([[level.shape[1] / width], [level.shape[0] / height]])
    indices = to_frame * scale
    indices[:, 2] += indices[:, :2].sum(axis=1) / 2 - 0.5
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    canvas = cv2.warpAffine(
        level, indices, size[::-1], flags=flags, borderMode=cv2.BORDER_REPLICATE
    )
    inside = cv2.warpAffine(
        np.ones(level.shape[:2], np.uint8),
        indices,
        size[::-1],
        flags=cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_CONSTANT,
    )
    return canvas.astype(np.float32), inside


def composed(outer: Affine, inner: Affine) -> Affine:
    """Return the map that applies `inner`, then `outer`."""
    joined = outer[:, :2] @ inner
    joined[:, 2] += outer[:, 2]
    return np.asarray(joined)


def inverted(affine: Affine) -> Affine:
    """Return the inverse of a map; raise LinAlgError if it has none."""
    (a, b, x), (c, d, y) = affine.tolist()
    scale = a * d - b * c
    if scale == 0:
        raise np.linalg.LinAlgError("an affine map that has no inverse")
    inverse = [[d, -b, b * y - d * x], [-c, a, c * x - a * y]]
    return np.asarray(np.array(inverse, np.float64) / scale)
