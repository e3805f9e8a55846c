"""Finds the part that two aligned images share, and draws both on one canvas over it."""

from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Bool, Float32, Float64

from clipaudit.copies.borders import Box
from clipaudit.copies.pyramids import Affine, Pyramid, composed, drawn, inverted

LEAST_AREA = 16.0  # pixels of the first frame: less is no overlap
MARGIN = 8.0  # pixels of the frame around the content
SPARED_EDGE = 0.008  # of the overlap's longer side, on each side: a pixel of the canvas
LEAST_CANVAS = 48  # pixels, longer side

Canvas = Float32[np.ndarray, "a b 3"]
Mask = Bool[np.ndarray, "a b"]


class Overlap(NamedTuple):
    """Both images drawn over their overlap, and where both are known."""

    first: Canvas
    second: Canvas
    inside: Mask
    to_first: Affine  # from the canvas to the first frame
    drawn: tuple[Canvas, Canvas]  # both before they were smoothed
    longer: float  # pixels of the canvas's longer side, before rounding
    box: tuple[Float64[np.ndarray, " 2"], Float64[np.ndarray, " 2"]]  # corner and extent in first


def shared_polygon(
    first: Pyramid, second: Pyramid, to_second: Affine
) -> Float64[np.ndarray, "n 2"] | None:
    """Return the corners of the overlap in the first frame, or None if there is none.

    The second frame is a parallelogram there, so the overlap is convex.
    """
    to_first = inverted(to_second)
    moved = corners(second) @ to_first[:, :2].T + to_first[:, 2]
    area, polygon = cv2.intersectConvexConvex(
        corners(first).astype(np.float32), moved.astype(np.float32)
    )
    if polygon is None or area < LEAST_AREA:
        return None
    return np.asarray(polygon[:, 0, :], np.float64)


def covered_shares(first: Pyramid, second: Pyramid, to_second: Affine) -> tuple[float, float]:
    """Return the share of each frame's area that the other one covers, from 0 to 1."""
    polygon = shared_polygon(first, second, to_second)
    if polygon is None:
        return 0.0, 0.0
    area = float(cv2.contourArea(polygon.astype(np.float32)))
    grown = area * abs(float(np.linalg.det(to_second[:, :2])))
    return (
        min(1.0, area / (first.size[0] * first.size[1])),
        min(1.0, grown / (second.size[0] * second.size[1])),
    )


def drawn_overlap(
    first: Pyramid,
    second: Pyramid,
    to_second: Affine,
    *,
    side: int,
    smoothing: float,
    known: Overlap | None = None,
) -> Overlap | None:
    """Return the overlap of two images on a canvas whose longer side has at most `side` pixels.

    The canvas has no more pixels than the coarser of the two images has there, but at least 48 on
    its longer side. Both are smoothed by a Gaussian of `smoothing` pixels. Returns None without an
    overlap. `known` is the overlap under the same alignment at another side, to reuse its results.
    """
    box = _overlap_box(first, second, to_second) if known is None else known.box
    if box is None:
        return None
    corner, extent = box
    zoom = float(np.sqrt(abs(np.linalg.det(to_second[:, :2]))))
    finest = float(extent.max()) * min(1.0, zoom)  # pixels that the coarser image has
    longer = float(np.clip(finest, LEAST_CANVAS, side))
    if known is not None and known.longer == longer:
        one, two = (cv2.GaussianBlur(canvas, (0, 0), smoothing) for canvas in known.drawn)
        return known._replace(first=one, second=two)
    width, height = (max(8, round(float(length / extent.max()) * longer)) for length in extent)
    to_first = np.array(
        [[extent[0] / width, 0, corner[0]], [0, extent[1] / height, corner[1]]], np.float64
    )
    step = float(extent.max()) / min(longer, finest)
    one, in_one = drawn(first, to_first, (height, width), step)
    two, in_two = drawn(second, composed(to_second, to_first), (height, width), step * zoom)
    inside = (in_one & in_two).astype(bool)
    smooth = [cv2.GaussianBlur(canvas, (0, 0), smoothing) for canvas in (one, two)]
    return Overlap(smooth[0], smooth[1], inside, to_first, (one, two), longer, box)


def _overlap_box(
    first: Pyramid, second: Pyramid, to_second: Affine
) -> tuple[Float64[np.ndarray, " 2"], Float64[np.ndarray, " 2"]] | None:
    """Return corner and extent of the box, in the overlap, around the content of either.

    Everything outside it has one colour in both. The outermost pixels are left out: there, resized
    images mix with their surroundings.
    """
    polygon = shared_polygon(first, second, to_second)
    if polygon is None:
        return None
    to_first = inverted(to_second)
    moved = _corners_of(second.content) @ to_first[:, :2].T + to_first[:, 2]
    both = np.concatenate([_corners_of(first.content), moved])
    low = np.maximum(polygon.min(axis=0), both.min(axis=0) - MARGIN)
    high = np.minimum(polygon.max(axis=0), both.max(axis=0) + MARGIN)
    edge = np.maximum(SPARED_EDGE * (high - low).max(), 1.0)
    low = np.maximum(low, polygon.min(axis=0) + edge)
    high = np.minimum(high, polygon.max(axis=0) - edge)
    return None if (high - low).min() < 2 else (low, high - low)


def _corners_of(box: Box) -> Float64[np.ndarray, "4 2"]:
    return np.array(
        [
            [box.left, box.top],
            [box.right, box.top],
            [box.right, box.bottom],
            [box.left, box.bottom],
        ],
        np.float64,
    )


def corners(pyramid: Pyramid) -> Float64[np.ndarray, "4 2"]:
    """Return the corners of an image in its frame, in order around it."""
    height, width = pyramid.size
    return np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float64)
