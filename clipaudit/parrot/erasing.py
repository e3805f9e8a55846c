"""Erase text from images by inpainting the area of spotted polygons from its surroundings.

Lin et al., ECCV 2024, https://arxiv.org/abs/2312.14232, Sec. 5.1: Telea's fast marching method over
the spotted polygons, and, as a baseline, over those of another image. The paper states no radius
and no dilation; here both are lengths in an image whose shorter side is 224 pixels. The paper does
not name the other image; here it is one of the same shard that also has such text, with its
polygons scaled to the image's size.
"""

import math
from collections.abc import Sequence
from typing import Literal

import cv2
import numpy as np
from jaxtyping import Bool, Int32, UInt8

from clipaudit.corpora.places import places
from clipaudit.parrot.spans import Polygon

REFERENCE_SIDE = 224  # pixels: the images that CLIP models take
Fill = Literal["telea", "mean"]  # how masked pixels are filled

FARTHEST = 1 << 20  # pixels: far outside any image, and still drawn by cv2


def scaled_length(length: float, height: int, width: int) -> int:
    """Return a length given for a shorter side of 224 pixels, in whole pixels of an image.

    Halves are rounded up; at least 1, but 0 stays 0.

    >>> [scaled_length(5, side, 1000) for side in (2, 224, 336)], scaled_length(0, 448, 448)
    ([1, 5, 8], 0)
    """
    return max(math.floor(length * min(height, width) / REFERENCE_SIDE + 0.5), int(length > 0))


def scaled(
    polygons: Sequence[Polygon], from_size: tuple[int, int], to_size: tuple[int, int]
) -> list[Polygon]:
    """Return polygons of one image stretched to another's size; sizes are (height, width).

    >>> scaled([(1, 2, 3, 4, 5, 6)], (10, 10), (20, 5))
    [(0.5, 4.0, 1.5, 8.0, 2.5, 12.0)]
    """
    vertical, horizontal = (to / old for old, to in zip(from_size, to_size, strict=True))
    return [
        tuple(value * (vertical if at % 2 else horizontal) for at, value in enumerate(polygon))
        for polygon in polygons
    ]


def mask_of(
    polygons: Sequence[Polygon], height: int, width: int, *, dilation: int
) -> Bool[np.ndarray, "h w"]:
    """Return the pixels that polygons cover, outlines included, and those near them.

    Near is at most `dilation` pixels away in both directions. Corners are rounded to whole pixels;
    polygons may overlap, be a line or a point, and be partly or wholly outside the image.
    """
    # a margin, since polygons just outside the image can grow into it
    canvas = np.zeros((height + 2 * dilation, width + 2 * dilation), np.uint8)
    for polygon in polygons:  # one by one: given several, fillPoly leaves out overlaps
        corners = np.asarray(polygon, np.float64).reshape(-1, 2)
        pixels = np.rint(np.clip(corners, -FARTHEST, FARTHEST)).astype(np.int32) + dilation
        cv2.fillPoly(canvas, [pixels], 1)
    side = 2 * dilation + 1
    grown = cv2.dilate(canvas, np.ones((side, side), np.uint8))
    return grown[dilation : dilation + height, dilation : dilation + width].astype(bool)


def erase(
    pixels: UInt8[np.ndarray, "h w 3"],
    mask: Bool[np.ndarray, "h w"],
    *,
    radius: int,
    fill: Fill = "telea",
) -> UInt8[np.ndarray, "h w 3"]:
    """Return the image with the masked pixels inpainted by Telea's method; others stay.

    An inpainted pixel comes from those at most `radius` pixels away (OpenCV takes 1 to 100) that
    are known or already inpainted; nothing depends on the pixels under the mask. An empty mask
    gives an equal image. A mask that covers everything leaves nothing to inpaint from and gives the
    image's mean colour.

    With the fill "mean" masked pixels get the mean colour of the others, and the radius does not
    matter: it takes a small share of the time, but leaves a plain patch, unlike the paper.
    """
    if not mask.any():
        return pixels.copy()
    mean = _mean_colour(pixels.reshape(-1, 3) if mask.all() else pixels[~mask])
    # If a mask reaches the first two rows or columns, OpenCV lets masked pixels, the text itself,
    # shine through. So they get a plain colour first.
    hidden = np.where(mask[..., None], mean, pixels)
    if mask.all() or fill == "mean":
        return hidden
    inpainted = cv2.inpaint(hidden, mask.astype(np.uint8), radius, cv2.INPAINT_TELEA)
    return np.where(mask[..., None], inpainted, pixels)


def erase_polygons(
    pixels: UInt8[np.ndarray, "h w 3"],
    polygons: Sequence[Polygon],
    from_size: tuple[int, int],
    *,
    radius: float,
    dilation: float,
    fill: Fill = "telea",
) -> UInt8[np.ndarray, "h w 3"]:
    """Return the image with the area of polygons, given in an image of `from_size`, erased.

    `from_size` is (height, width); the polygons are stretched to this image. Both lengths are
    pixels of an image whose shorter side is 224.
    """
    height, width = pixels.shape[:2]
    grown = scaled_length(dilation, height, width)
    mask = mask_of(scaled(polygons, from_size, (height, width)), height, width, dilation=grown)
    return erase(pixels, mask, radius=scaled_length(radius, height, width), fill=fill)


def _mean_colour(pixels: UInt8[np.ndarray, "n 3"]) -> UInt8[np.ndarray, " 3"]:
    doubled = 2 * pixels.sum(axis=0, dtype=np.int64)
    mean: np.ndarray = (doubled + len(pixels)) // (2 * len(pixels))  # halves are rounded up
    return mean.astype(np.uint8)


def donors(
    rows: Int32[np.ndarray, " n"], has: Bool[np.ndarray, " n"], *, shard: int, seed: int
) -> Int32[np.ndarray, " n"]:
    """Return, for each row of a shard, another row for which `has` is true; -1 if none.

    The draw is uniform, by the row's place in the random order of `seed`: it depends on the shard's
    number, the row and the rows with `has`, not on their order.

    >>> donors(np.array([0, 4, 7], np.int32), np.array([True, True, False]), shard=0, seed=0)
    array([4, 0, 4], dtype=int32)
    """
    candidates = np.sort(rows[has])
    others = (len(candidates) - has).astype(np.uint64)  # number of candidates, the row excluded
    draws = places(np.full(len(rows), shard, np.int32), rows, seed=seed)
    drawn = (draws % np.maximum(others, np.uint64(1))).astype(np.int64)
    drawn += has & (drawn >= np.searchsorted(candidates, rows))  # skip the row itself
    found = np.full(len(rows), -1, np.int32)
    found[others > 0] = candidates[drawn[others > 0]]
    return found
