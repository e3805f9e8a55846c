"""Names the edits made to an image, from the alignment of its copy."""

import itertools

import cv2
import numpy as np
from jaxtyping import Float64, UInt8

from clipaudit.copies.overlaps import covered_shares, shared_polygon
from clipaudit.copies.placements import askew_by, turned_by
from clipaudit.copies.pyramids import Affine, Pyramid, inverted

EDITS = ("bordered", "cropped", "mirrored", "overlaid", "recoloured", "rotated")
LEAST_ANGLE = 3.0  # degrees
SPARED = 0.04  # of an image's area that may be missing without naming an edit
SPARED_BY_TURNING = 0.3  # of the area, by a turn other than a quarter: it cuts and adds corners
SIDE = 128  # pixels at which the area outside the overlap is inspected
MARGIN = 2.0  # pixels: how exact the outline of an overlap is
PLAIN = 24.0  # levels from the usual colour that a border's pixels may differ
PLAIN_SHARE = 0.995  # of a border's pixels
SEAM = 16.0  # levels by which colours jump where an image was pasted on another one
SEAM_STEPS = (-6.0, -2.0, 2.0, 6.0)  # pixels from an outline at which colours are compared
SEAM_SHARE = 0.1  # of the outline along which they must
SEAM_RATIO = 3.0  # of that share to the one beside the outline
SEAM_BESIDE = (-10.0, -6.0, 6.0, 10.0)  # pixels

Polygon = Float64[np.ndarray, "n 2"]


def placed_edits(first: Pyramid, second: Pyramid, to_second: Affine) -> set[str]:
    """Return the edits that an alignment shows: all except recolouring and overlays.

    What one image has beyond the other is a border if it has one colour. Otherwise the other one
    was cropped, unless a seam around the overlap shows that it was pasted on another image.
    """
    angle, mirrored = turned_by(to_second)
    found = {"mirrored"} if mirrored else set()
    if angle > LEAST_ANGLE and not (mirrored and angle > 180 - LEAST_ANGLE):
        found.add("rotated")
    spared = SPARED_BY_TURNING if askew_by(to_second) > LEAST_ANGLE else SPARED
    shares = covered_shares(first, second, to_second)
    if shares[0] < 1 - spared:
        found.add(_beyond(first, second, to_second))
    if shares[1] < 1 - spared:
        found.add(_beyond(second, first, inverted(to_second)))
    return found


def _beyond(pyramid: Pyramid, other: Pyramid, to_other: Affine) -> str:
    """Name how an image came to have more than the other one."""
    if is_plain(pixels_beyond(pyramid, other, to_other)):
        return "bordered"
    polygon = shared_polygon(pyramid, other, to_other)
    return "overlaid" if polygon is not None and _has_seam(pyramid, polygon) else "cropped"


def pixels_beyond(pyramid: Pyramid, other: Pyramid, to_other: Affine) -> Float64[np.ndarray, "n 3"]:
    """Return the colours of an image outside the overlap, at a reduced size."""
    level = pyramid.level_near(max(pyramid.size) / SIDE)
    polygon = shared_polygon(pyramid, other, to_other)
    if polygon is None:
        return level.reshape(-1, 3).astype(np.float64)
    scale = level.shape[1] / pyramid.size[1], level.shape[0] / pyramid.size[0]
    return np.asarray(level[_grown(polygon * scale, level) == 0], np.float64)


def is_plain(pixels: Float64[np.ndarray, "n 3"]) -> bool:
    """Return whether nearly all pixels are near their usual colour; true without pixels."""
    if not len(pixels):
        return True
    off = np.abs(pixels - np.median(pixels, axis=0)).max(axis=1)
    return bool((off <= PLAIN).mean() >= PLAIN_SHARE)


def _grown(polygon: Polygon, level: UInt8[np.ndarray, "a b 3"]) -> UInt8[np.ndarray, "a b"]:
    """Return the polygon as a mask, grown by its margin of error."""
    canvas = np.zeros(level.shape[:2], np.uint8)
    cv2.fillConvexPoly(canvas, np.rint(polygon - 0.5).astype(np.int32), [1])
    side = 2 * int(MARGIN) + 1
    return np.asarray(cv2.dilate(canvas, np.ones((side, side), np.uint8)))


def _has_seam(pyramid: Pyramid, polygon: Polygon) -> bool:
    """Return whether colours jump along a polygon inside the image, and not beside it."""
    level = np.asarray(cv2.GaussianBlur(pyramid.levels[0], (0, 0), 0.7))
    beside = sum(_jumps(level, polygon, reach) for reach in SEAM_BESIDE) / len(SEAM_BESIDE)
    return _jumps(level, polygon, 0.0) > max(SEAM_SHARE, SEAM_RATIO * beside)


def _jumps(level: UInt8[np.ndarray, "a b 3"], polygon: Polygon, reach: float) -> float:
    """Return the share of a polygon, moved outwards by some pixels, across which colours jump.

    A jump is a difference across the outline that is larger than those just inside and outside.
    """
    middle = polygon.mean(axis=0)
    span = np.maximum(np.abs(polygon - middle).max(axis=0), 1)
    lines = [
        _along(middle + (polygon - middle) * np.maximum(0.1, 1 + (reach + step) / span))
        for step in SEAM_STEPS
    ]
    shape = level.shape[1], level.shape[0]
    within = np.logical_and.reduce([(line >= 0) & (line < shape) for line in lines]).all(axis=1)
    if not within.any():
        return 0.0
    colours = [
        level[line[within, 1].astype(int), line[within, 0].astype(int)].astype(np.float64)
        for line in lines
    ]
    inner, across, outer = (
        np.abs(one - two).max(axis=1) for one, two in itertools.pairwise(colours)
    )
    return float((across > SEAM + np.maximum(inner, outer)).mean())


def _along(polygon: Polygon) -> Float64[np.ndarray, "m 2"]:
    """Return 40 points evenly along each side of a polygon."""
    steps = np.linspace(0, 1, 40, endpoint=False)[None, :, None]
    following = np.roll(polygon, -1, axis=0)
    return np.asarray((polygon[:, None] * (1 - steps) + following[:, None] * steps).reshape(-1, 2))
