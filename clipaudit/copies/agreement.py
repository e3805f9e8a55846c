"""Measures how far the content of two aligned images agrees.

Both are drawn over their overlap on a coarse canvas in colour, and on a finer one in grey. Only
windows with structure in one of the two count, so that a white background agrees with nothing.
If they do not agree unchanged, the sharper one is blurred, and one gets the affine map of
colours that fits the other best. How much such freedom proves depends on how rich the content is.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Bool, Float32

from clipaudit.copies.colours import (
    OTHER_COLOUR,
    WRONG_COLOUR,
    ColourMap,
    colour_maps,
    farther_than,
    mapped,
)
from clipaudit.copies.overlaps import Overlap, drawn_overlap
from clipaudit.copies.pyramids import Affine, Pyramid
from clipaudit.copies.structure import (
    WINDOW,
    Structure,
    Windows,
    channel_mean,
    compared,
    equally_sharp,
    known_windows,
    share,
)

COARSE_SIDE, COARSE_SMOOTHING = 128, 0.8  # pixels: blur, noise and JPEG's blocks do not matter
FINE_SIDE, FINE_SMOOTHING = 256, 0.7  # pixels: tells clubs from spades on a card
AGREED = 0.97  # agreement from which nothing further is tried
GAIN, LOSS = 0.01, 0.02  # of agreement that a further freedom must bring, or may cost
LEAST_OFF = 0.02  # share of windows in wrong colours from which mapping them is tried
LUMA = np.array([[0.299, 0.587, 0.114]])
CORNER = 25.0  # smaller eigenvalue of the structure tensor: some 2.5 levels a pixel both ways
ISOTROPY = 0.2  # of the larger one: along a smooth line, even a curved one, it is less
CELL = 8  # pixels of the coarse canvas

Plane = Float32[np.ndarray, "a b"]
Mask = Bool[np.ndarray, "a b"]


@dataclass(frozen=True, eq=False)
class Agreement:
    """What the comparison of two aligned images gave."""

    coarse: Structure
    fine: Structure
    unmapped: Structure  # the coarse one before colours were mapped
    overlap: Overlap  # the coarse one
    close: Overlap  # the fine one
    other_colours: Mask  # windows of the coarse canvas
    wrong_colours: Mask  # those whose colours differ even after they are mapped
    colours: tuple[int, ColourMap] | None  # whose colours were mapped (0: first), and how
    plain: Structure  # the fine one, with colours and sharpness as they are

    @property
    def score(self) -> float:
        """Return the lower one of the coarse and the fine agreement."""
        return min(self.coarse.agreement, self.fine.agreement)

    @cached_property
    def corners(self) -> Mask:
        """Return the windows of the coarse canvas in which both have a corner, and agree."""
        return _corners(self.coarse)


class Coarse(NamedTuple):
    """The best agreement of two colour canvases, and how it was reached."""

    best: Structure
    plain: Structure  # before colours were mapped; maybe softened
    colours: tuple[int, ColourMap] | None  # whose colours were mapped (0: first), and how


def coarse_structure(overlap: Overlap) -> Coarse:
    """Return the best agreement of the colour canvases: plain, softened, in mapped colours."""
    known = known_windows(overlap.inside)
    pair = Windows(overlap.first), Windows(overlap.second)
    plain = compared(*pair, known)
    if plain.agreement < AGREED:
        softened = compared(*equally_sharp(*pair, overlap.inside), known)
        plain = softened if softened.agreement > plain.agreement + GAIN else plain
    return _recoloured(plain, overlap.inside)


def _recoloured(plain: Structure, inside: Mask) -> Coarse:
    """Return the agreement after mapping colours, if that is better, or as good and nearer."""
    off = share(farther_than(plain.first, plain.second, WRONG_COLOUR), plain.known)
    found = Coarse(plain, plain, None)
    if (plain.agreement >= AGREED and off <= LEAST_OFF) or not inside.any():
        return found
    fits = colour_maps(plain.first.canvas, plain.second.canvas, inside)
    for which, fit in enumerate(fits):
        pair = [plain.first, plain.second]
        pair[which] = Windows(mapped(pair[which].canvas, fit))
        fitted = compared(pair[0], pair[1], plain.known)
        nearer = share(farther_than(pair[0], pair[1], WRONG_COLOUR), plain.known) < off / 2
        if fitted.agreement > found.best.agreement + (-LOSS if nearer else GAIN):
            found = Coarse(fitted, plain, (which, fit))
    return found


class Alignment(NamedTuple):
    """An alignment, and what the coarse canvas shows under it."""

    to_second: Affine
    overlap: Overlap
    coarse: Coarse


def aligned(first: Pyramid, second: Pyramid, to_second: Affine) -> Alignment | None:
    """Return what two images show under an alignment, or None if they do not overlap."""
    overlap = drawn_overlap(first, second, to_second, side=COARSE_SIDE, smoothing=COARSE_SMOOTHING)
    return None if overlap is None else Alignment(to_second, overlap, coarse_structure(overlap))


def agreement(first: Pyramid, second: Pyramid, alignment: Alignment) -> Agreement | None:
    """Return how far two images agree under an alignment, or None if they do not overlap."""
    close = drawn_overlap(
        first,
        second,
        alignment.to_second,
        side=FINE_SIDE,
        smoothing=FINE_SMOOTHING,
        known=alignment.overlap,
    )
    return None if close is None else _agreement(alignment.overlap, close, alignment.coarse)


def in_plain_colours(found: Agreement) -> Agreement:
    """Return the agreement without mapping colours, as a map may hide an overlay."""
    return _agreement(found.overlap, found.close, Coarse(found.unmapped, found.unmapped, None))


def _agreement(overlap: Overlap, close: Overlap, found: Coarse) -> Agreement:
    coarse, unmapped, colours = found
    fine, plain = _fine_structure(close, colours)
    return Agreement(
        coarse,
        fine,
        unmapped,
        overlap,
        close,
        farther_than(unmapped.first, unmapped.second, OTHER_COLOUR),
        farther_than(coarse.first, coarse.second, WRONG_COLOUR) & coarse.known,
        colours,
        plain,
    )


def _fine_structure(
    overlap: Overlap, colours: tuple[int, ColourMap] | None
) -> tuple[Structure, Structure]:
    """Return the best agreement of grey canvases, mapped and softened, and the plain one."""
    known = known_windows(overlap.inside)
    pair = [overlap.first, overlap.second]
    greys = [_grey(canvas) for canvas in pair]
    best = plain = compared(greys[0], greys[1], known)
    if colours is not None:
        which, fit = colours
        greys[which] = _grey(mapped(pair[which], fit))
        best = compared(greys[0], greys[1], known)
    if best.agreement < AGREED:
        softened = compared(*equally_sharp(best.first, best.second, overlap.inside), known)
        best = max(best, softened, key=lambda structure: structure.agreement)
    return best, plain


def _grey(canvas: Float32[np.ndarray, "a b 3"]) -> Windows:
    return Windows(np.asarray(cv2.transform(canvas, LUMA)))


def _corners(coarse: Structure) -> Mask:
    """Return the windows in which both canvases vary in two directions, and agree."""
    both = coarse.agrees & coarse.in_either
    for windows in (coarse.first, coarse.second):
        plane = channel_mean(windows.canvas)
        values = cv2.cornerEigenValsAndVecs(plane, WINDOW, 3)[..., :2]
        least, most = np.minimum(*cv2.split(values)), np.maximum(*cv2.split(values))
        both &= (least > CORNER) & (least > ISOTROPY * most)
    return np.asarray(both)


def richness(corners: Mask) -> int:
    """Count the cells of 8 x 8 pixels that have corners: the more, the more agreement proves."""
    padded = np.pad(corners, [(0, -side % CELL) for side in corners.shape])
    rows, columns = (side // CELL for side in padded.shape)
    return int(padded.reshape(rows, CELL, columns, CELL).any(axis=(1, 3)).sum())


def correlation(found: Agreement) -> float:
    """Return the correlation of colours over the overlap, as they were mapped; of plain ones: 0."""
    at = np.flatnonzero(found.overlap.inside)
    one, two = (
        windows.canvas.reshape(-1, 3)[at].astype(np.float64)
        for windows in (found.coarse.first, found.coarse.second)
    )
    one, two = one - one.mean(axis=0), two - two.mean(axis=0)
    # einsum, not @: no BLAS, so that threads change nothing
    scale = float(np.sqrt(np.einsum("nc,nc->", one, one) * np.einsum("nc,nc->", two, two)))
    return float(np.einsum("nc,nc->", one, two)) / scale if scale > 1e-6 else 0.0
