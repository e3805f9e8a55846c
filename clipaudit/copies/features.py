"""Aligns two images by OpenCV's SIFT features and RANSAC.

Features do not survive mirroring, so those of the second image are mirrored too.
"""

from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float32, Float64, UInt8

from clipaudit.copies.pyramids import Affine, Pyramid

SIDE = 192  # pixels, longer side: features cost some 5 ms an image of this size
FEATURES = 300  # strongest ones of an image
CONTRAST = 0.02  # half of SIFT's default: drawings have soft shades, too
RATIO = 0.8  # Lowe's: how much nearer the nearest feature must be than the next
REACH = 3.0  # pixels by which a matched feature may be off
LEAST_INLIERS = 5  # an affine map has 6 degrees of freedom: 3 points always fit
MOST_ZOOM = 12.0  # of one image against the other
MOST_SKEW = 2.0  # longer by shorter axis of a circle's image
SEED = 20  # of RANSAC


class Matched(NamedTuple):
    """An alignment and how many matched features lie on it."""

    inliers: int
    to_second: Affine


class Features(NamedTuple):
    """Features of a small grey image: places in the frame, and descriptors."""

    points: Float64[np.ndarray, "n 2"]
    descriptors: Float32[np.ndarray, "n 128"]


def feature_candidates(
    first: Features, second: Features, size: tuple[int, int]
) -> Iterator[Matched]:
    """Yield the alignments found by features, first unchanged, then with the second mirrored.

    `size` is that of the second image's frame, height and width.
    """
    for mirrored in (False, True):
        cv2.setRNGSeed(SEED)
        found = _matched(first, _mirrored(second) if mirrored else second, max(size))
        if found is not None:
            yield found


def _grey(pyramid: Pyramid) -> UInt8[np.ndarray, "a b"]:
    level = pyramid.levels[0]
    scale = min(1.0, SIDE / max(level.shape[:2]))
    height, width = (max(1, round(length * scale)) for length in level.shape[:2])
    small = cv2.resize(level, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY))


def features_of(pyramid: Pyramid) -> Features:
    """Return the strongest features of an image; a plain one has none."""
    grey = _grey(pyramid)
    sift = cv2.SIFT_create(nfeatures=FEATURES, contrastThreshold=CONTRAST)  # type: ignore[attr-defined]
    points, descriptors = sift.detectAndCompute(grey, None)
    order = sorted(range(len(points)), key=lambda row: _place(points[row]))  # not by thread
    if not order:
        return Features(np.zeros((0, 2)), np.zeros((0, 128), np.float32))
    scale = np.array([pyramid.size[1] / grey.shape[1], pyramid.size[0] / grey.shape[0]])
    places = (np.array([points[row].pt for row in order], np.float64) + 0.5) * scale
    return Features(places, descriptors[order])


def _place(point: cv2.KeyPoint) -> tuple[float, ...]:
    return (*point.pt, point.size, point.angle)


def _mirrored(features: Features) -> Features:
    """Return the features as they would be described in the mirrored image, at their old places.

    A descriptor is 4 x 4 cells of 8 directions, along the direction of its feature: mirroring
    exchanges the sides of that axis.
    """
    cells = features.descriptors.reshape(-1, 4, 4, 8)
    turned = np.roll(cells[:, ::-1, :, ::-1], 1, axis=3)  # direction 0 stays
    return Features(features.points, turned.reshape(-1, 128))


def _matched(one: Features, two: Features, side: int) -> Matched | None:
    if min(len(one.points), len(two.points)) < LEAST_INLIERS:
        return None
    clear, nearest = _clear_matches(one.descriptors, two.descriptors)
    if len(clear) < LEAST_INLIERS:
        return None
    affine, inliers = cv2.estimateAffine2D(
        one.points[clear],
        two.points[nearest],
        method=cv2.RANSAC,
        ransacReprojThreshold=REACH * max(1.0, side / SIDE),
        maxIters=1000,
        confidence=0.99,
    )
    if affine is None or int(inliers.sum()) < LEAST_INLIERS or not _is_sane(affine):
        return None
    return Matched(int(inliers.sum()), np.asarray(affine, np.float64))


def _clear_matches(
    one: Float32[np.ndarray, "n d"], two: Float32[np.ndarray, "m d"]
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the first whose nearest row of the second is much nearer than the next."""
    far = (one**2).sum(axis=1)[:, None] + (two**2).sum(axis=1) - 2 * one @ two.T
    nearest = far.argmin(axis=1)
    rows = np.arange(len(one))
    least = far[rows, nearest].copy()
    far[rows, nearest] = np.inf
    clear = np.flatnonzero(least < RATIO**2 * far.min(axis=1))
    return clear, nearest[clear]


def _is_sane(affine: Affine) -> bool:
    """Return whether editing can produce a map: no extreme zoom, stretch or shear."""
    if not np.isfinite(affine).all():
        return False
    longer, shorter = np.linalg.svd(affine[:, :2], compute_uv=False)
    if shorter <= 0 or longer > MOST_SKEW * shorter:
        return False
    return bool(1 / MOST_ZOOM < np.sqrt(longer * shorter) < MOST_ZOOM)
