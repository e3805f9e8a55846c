"""Describes an alignment: turned, mirrored, and whether editing an image can produce it."""

import numpy as np

from clipaudit.copies.overlaps import corners, covered_shares
from clipaudit.copies.pyramids import Affine, Pyramid, inverted

UPRIGHT = 0.5  # degrees: how far features and refinement may be off
WHOLE = 0.99  # share of both images that lies within the other one
WITHIN = 0.996  # share of one image that lies within the other one
SAME_SIZE = 0.01  # of the zoom
MISPLACED = 0.015  # of the longer side: how far a turned image's middle and sides may be off


def turned_by(to_second: Affine) -> tuple[float, bool]:
    """Return by how many degrees (0 to 180) an alignment turns, and whether it mirrors.

    A mirrored one counts as flipped left to right, then turned: top to bottom is 180.

    >>> turned_by(np.array([[0.0, -2, 0], [2, 0, 0]]))
    (90.0, False)
    >>> turned_by(np.array([[-1.0, 0, 9], [0, 1, 0]]))
    (0.0, True)
    """
    linear = to_second[:, :2]
    mirrored = bool(np.linalg.det(linear) < 0)
    if mirrored:
        linear = linear * np.array([-1.0, 1.0])
    turn = np.arctan2(linear[1, 0] - linear[0, 1], linear[0, 0] + linear[1, 1])
    return abs(float(np.degrees(turn))), mirrored


def askew_by(to_second: Affine) -> float:
    """Return by how many degrees an alignment differs from the nearest quarter turn."""
    angle = turned_by(to_second)[0] % 90
    return min(angle, 90 - angle)


def is_whole(first: Pyramid, second: Pyramid, to_second: Affine) -> bool:
    """Return whether an alignment lays one whole image upright on the other whole one."""
    upright = askew_by(to_second) < UPRIGHT
    return upright and min(covered_shares(first, second, to_second)) > WHOLE


def is_usual(first: Pyramid, second: Pyramid, to_second: Affine) -> bool:
    """Return whether editing an image can produce an alignment.

    Upright, one image contains the other one. Askew, one is the other turned around its middle: it
    keeps the size of the frame, or just holds all corners. Two drawings of one shape, each placed
    at random, rarely align like this.
    """
    if askew_by(to_second) < UPRIGHT:
        return max(covered_shares(first, second, to_second)) > WITHIN
    return _is_turned_in_place(first, second, to_second) or _is_turned_in_place(
        second, first, inverted(to_second)
    )


def keeps_size(first: Pyramid, second: Pyramid, to_second: Affine) -> bool:
    """Return whether a pixel of one original image is as large as a pixel of the other one."""
    zoom = float(np.sqrt(abs(np.linalg.det(to_second[:, :2]))))
    return abs(zoom * first.reduction / second.reduction - 1) < SAME_SIZE


def _is_turned_in_place(first: Pyramid, second: Pyramid, to_second: Affine) -> bool:
    size = np.array(second.size[::-1], np.float64)
    moved = corners(first) @ to_second[:, :2].T + to_second[:, 2]
    near = MISPLACED * float(size.max())
    if np.abs(moved.mean(axis=0) - size / 2).max() > near:
        return False
    sides = np.linalg.norm(moved[:2] - moved[1:3], axis=1)
    kept = np.abs(np.sort(sides) - np.sort(size)).max() <= near
    return bool(kept or np.abs(np.ptp(moved, axis=0) - size).max() <= near)
