"""Makes the views of an image that are hashed, so that an edited copy of it can be found.

A perceptual hash survives re-encoding and colour, not geometry. A test image is therefore hashed in
many views: whole, without its uniform border, mirrored and rotated, and cropped in the ways that
people crop. A training image is hashed whole and without its border. Both are also hashed in
halves, which are compared only with the same half: if one half is free of overlays, that half finds
the image.
"""

from collections.abc import Callable, Iterator

import cv2
import numpy as np
from jaxtyping import UInt8

from clipaudit.copies.borders import content_box

Rgb = UInt8[np.ndarray, "_ _ 3"]  # two images of a function may differ in size

WHOLE, TRIMMED = "whole", "trimmed"
# Pairs that one of these views finds (None: a thumbnail, also of the whole image) are aligned
# directly. Of 1,640 such copies of 120 drawings that are verified in every way, 17 are not directly
# (benchmarks/alignments.py).
DIRECT = frozenset({WHOLE, TRIMMED, None})
WORKING_SIDE = 256  # pixels of the longer side that views are cut from

# A hash tolerates a crop that is off by some 2 % of a side, so sizes lie 4 % apart.
CROPS = (0.96, 0.92, 0.88, 0.84, 0.8, 0.76, 0.72, 0.68, 0.64, 0.6, 0.5)
STRIPS = (0.95, 0.9, 0.85, 0.8, 0.75)  # what is left when one edge is cut off
CORNERS = {
    "centre": (0.5, 0.5),
    "top left": (0.0, 0.0),
    "top right": (0.0, 1.0),
    "bottom left": (1.0, 0.0),
    "bottom right": (1.0, 1.0),
}
HALVES: dict[str, tuple[float, float, float, float]] = {  # height, width, down, along
    "top half": (0.5, 1, 0, 0),
    "bottom half": (0.5, 1, 1, 0),
    "left half": (1, 0.5, 0, 0),
    "right half": (1, 0.5, 0, 1),
}
# The eight orientations of an image, without its own.
TURNS: dict[str, Callable[[Rgb], Rgb]] = {
    "rotated by 90": lambda image: np.rot90(image, 1),
    "rotated by 180": lambda image: np.rot90(image, 2),
    "rotated by 270": lambda image: np.rot90(image, 3),
    "mirrored": lambda image: image[:, ::-1],
    "mirrored, rotated by 90": lambda image: np.rot90(image[:, ::-1], 1),
    "mirrored, rotated by 180": lambda image: np.rot90(image[:, ::-1], 2),
    "mirrored, rotated by 270": lambda image: np.rot90(image[:, ::-1], 3),
}


def train_views(image: Rgb) -> Iterator[tuple[str, Rgb]]:
    """Yield the views of a training image by name: whole, without its border, and its halves."""
    yield WHOLE, image
    top, bottom, left, right = content_box(image)
    if (bottom - top, right - left) != image.shape[:2]:
        yield TRIMMED, image[top:bottom, left:right]
    for name, half in HALVES.items():
        yield name, _cut(image, *half)


def test_views(image: Rgb) -> Iterator[tuple[str, Rgb]]:
    """Yield the views of a test image by name: those of a training image, turned, and cropped.

    All are cut from the image with its longer side reduced to WORKING_SIDE, by area averaging.
    Crops keep at least two pixels of each side.
    """
    yield from train_views(image)
    small = reduced(image, WORKING_SIDE)
    for name, turn in TURNS.items():
        yield name, turn(small)
    yield from _crops(small)


def reduced(image: Rgb, side: int) -> Rgb:
    """Return an image with its longer side reduced to `side` pixels; a smaller one unchanged."""
    height, width = image.shape[:2]
    if max(height, width) <= side:
        return image
    scale = side / max(height, width)
    size = (max(2, round(width * scale)), max(2, round(height * scale)))
    return cv2.resize(image, size, interpolation=cv2.INTER_AREA)


def _crops(image: Rgb) -> Iterator[tuple[str, Rgb]]:
    for size in CROPS:
        for corner, (down, along) in CORNERS.items():
            yield f"{size:.0%} {corner}", _cut(image, size, size, down, along)
    for size in STRIPS:
        yield f"bottom {size:.0%}", _cut(image, size, 1, 1, 0)
        yield f"top {size:.0%}", _cut(image, size, 1, 0, 0)
        yield f"right {size:.0%}", _cut(image, 1, size, 0, 1)
        yield f"left {size:.0%}", _cut(image, 1, size, 0, 0)
    height, width = image.shape[:2]
    if height != width:
        side = min(height, width)
        yield "centre square", _cut(image, side / height, side / width, 0.5, 0.5)


def _cut(image: Rgb, height: float, width: float, down: float, along: float) -> Rgb:
    """Return a crop: its share of each side, and where it lies between the edges."""
    full_height, full_width = image.shape[:2]
    rows = max(2, round(full_height * height))
    columns = max(2, round(full_width * width))
    top, left = round((full_height - rows) * down), round((full_width - columns) * along)
    return image[top : top + rows, left : left + columns]
