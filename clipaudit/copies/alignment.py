"""Maps one image's frame to another's where only size, border, mirror and quarter turns differ.

The eight mirrors and turns are compared on thumbnails of the whole images and of the parts inside
their borders, by grey values and by edges, since other colours may invert grey values.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float32

from clipaudit.copies.borders import Box
from clipaudit.copies.overlaps import Overlap
from clipaudit.copies.pyramids import Affine, Pyramid, composed, inverted
from clipaudit.copies.structure import channel_mean

THUMB = 32  # pixels
STRETCH = 1.6  # by which the ratio of the sides may differ
PREFERENCE = 0.02  # of likeness, for the simpler of two turns that fit a symmetric image equally
STEPS = 25  # of the refinement
ECC_SMOOTHING = 5  # pixels: OpenCV's own default

Thumb = Float32[np.ndarray, "a b 2"]
Thumbs = Float32[np.ndarray, "t 2 n"]  # as it lies before each of TURNS, the first of which is none


class Turn(NamedTuple):
    """One of the eight: sides exchanged or not, then flipped."""

    exchanged: bool
    flip_x: bool
    flip_y: bool

    @property
    def unit(self) -> Affine:
        """Return the map of the unit square to itself."""
        matrix = np.array([[1.0, 0, 0], [0, 1, 0]])
        if self.exchanged:
            matrix = np.array([[0.0, 1, 0], [1, 0, 0]])
        for axis, flip in enumerate((self.flip_x, self.flip_y)):
            if flip:
                matrix[axis] = -matrix[axis] + np.array([0, 0, 1])
        return matrix

    def undone(self, thumb: Thumb) -> Thumb:
        """Return a square image with the turn undone."""
        flipped = thumb[:: -1 if self.flip_y else 1, :: -1 if self.flip_x else 1]
        return flipped.transpose(1, 0, 2) if self.exchanged else flipped


TURNS = sorted((Turn(*flags) for flags in itertools.product((False, True), repeat=3)), key=sum)


class Candidate(NamedTuple):
    """A possible alignment; the likelier ones first."""

    likeness: float
    to_second: Affine


def box_candidates(
    first: dict[Box, Thumbs], second: dict[Box, Thumbs], most: int
) -> list[Candidate]:
    """Return the likeliest `most` alignments of whole images and of their contents, in order.

    Each box of the first (whole, content) is compared with each of the second, in all turns that
    give a similar ratio of sides. Of two that are equally likely, the one tried first wins.
    """
    found = [
        (likeness, one, turn, two)
        for one, thumbs in first.items()
        for two, others in second.items()
        for likeness, turn in _turned_likeness(one, two, thumbs, others)
    ]
    likeliest = sorted(found, key=lambda each: -each[0])[:most]
    return [Candidate(likeness, _to_box(one, turn, two)) for likeness, one, turn, two in likeliest]


def box_thumbs(pyramid: Pyramid) -> dict[Box, Thumbs]:
    """Return the thumbnails of the whole image and, if it has a border, of its content."""
    whole = Box(0, pyramid.size[0], 0, pyramid.size[1])
    return {box: _turned(_thumb(pyramid, box)) for box in (whole, pyramid.content)}


def _turned(thumb: Thumb) -> Thumbs:
    turned = np.stack([turn.undone(thumb).reshape(-1, 2) for turn in TURNS])
    return np.ascontiguousarray(turned.transpose(0, 2, 1))


def _turned_likeness(
    one: Box, two: Box, thumbs: Thumbs, others: Thumbs
) -> Iterator[tuple[float, Turn]]:
    alike = (thumbs[0] * others).sum(axis=2).tolist()
    for rank, (turn, (grey, edges)) in enumerate(zip(TURNS, alike, strict=True)):
        if 1 / STRETCH < one.ratio / (1 / two.ratio if turn.exchanged else two.ratio) < STRETCH:
            yield abs(grey) + edges - PREFERENCE * rank, turn


def _to_box(one: Box, turn: Turn, two: Box) -> Affine:
    """Return the map of one box, turned, to another."""
    return composed(_from_unit(two), composed(turn.unit, inverted(_from_unit(one))))


def _from_unit(box: Box) -> Affine:
    return np.array([[box.width, 0, box.left], [0, box.height, box.top]], np.float64)


def _thumb(pyramid: Pyramid, box: Box) -> Thumb:
    """Return grey values and edges of a box, each of mean 0 and length 1."""
    part = box.cut(pyramid.levels[0])
    how = cv2.INTER_AREA if min(part.shape[:2]) > THUMB else cv2.INTER_LINEAR
    small = cv2.resize(part, (THUMB, THUMB), interpolation=how).astype(np.float32)
    detail = np.abs(small - cv2.blur(small, (5, 5), borderType=cv2.BORDER_REFLECT))
    planes = np.stack([small.mean(axis=2), detail.sum(axis=2)], axis=2)
    planes -= planes.mean(axis=(0, 1))
    return np.asarray(planes / np.maximum(np.sqrt((planes**2).sum(axis=(0, 1))), 1e-3))


def refined(
    first: Float32[np.ndarray, "a b *c"],
    second: Float32[np.ndarray, "a b *c"],
    overlap: Overlap,
    to_second: Affine,
) -> Affine | None:
    """Return the alignment moved so that both canvases correlate best, or None if there is none.

    The canvases are those of the overlap, maybe in mapped colours or in grey. OpenCV's ECC
    maximises the correlation of grey values over all affine maps.
    """
    one, two = _levels(first), _levels(second)
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, STEPS, 1e-3)
    start, inside = np.eye(2, 3, dtype=np.float32), overlap.inside.astype(np.uint8)
    try:
        _, found = cv2.findTransformECC(
            one, two, start, cv2.MOTION_AFFINE, criteria, inside, ECC_SMOOTHING
        )
    except cv2.error:  # it did not converge, or nothing varies
        return None
    warp = np.asarray(found, np.float64)
    if not np.isfinite(warp).all() or abs(np.linalg.det(warp[:, :2])) < 1e-3:
        return None
    warp[:, 2] += 0.5 - warp[:, :2].sum(axis=1) / 2  # of pixels' numbers -> of coordinates
    moved = composed(warp, inverted(overlap.to_first))
    return composed(to_second, composed(overlap.to_first, moved))


def _levels(canvas: Float32[np.ndarray, "a b *c"]) -> Float32[np.ndarray, "a b"]:
    return np.clip(channel_mean(canvas), 0, 255).astype(np.float32)
