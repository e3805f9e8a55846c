"""Decides from the agreement of two aligned images whether one is a copy of the other.

The more freedom was used to reach an agreement, the less it proves. Content with many corners
proves a copy, whatever the colours and the alignment. Poorer content (a ring, a flag, one symbol on
a plain ground) must be placed as editing places it, and keep its colours except for a known edit.
"""

from functools import cached_property
from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Bool, Float32, Float64

from clipaudit.copies.agreement import Agreement, correlation, richness
from clipaudit.copies.colours import farther_than, named_residual
from clipaudit.copies.differences import NOTHING, Box, agreement_beside, differing_box, is_solid
from clipaudit.copies.edits import is_plain, pixels_beyond
from clipaudit.copies.overlaps import shared_polygon
from clipaudit.copies.placements import UPRIGHT, askew_by, is_usual, is_whole, keeps_size
from clipaudit.copies.pyramids import Affine, Pyramid, inverted
from clipaudit.copies.structure import Windows, equally_sharp, share, sharpness

SAME_COARSE, SAME_FINE = 0.93, 0.93  # agreement of a copy with nothing laid over it
WRONG = 0.03  # share of the overlap whose colours may stay wrong
CONTAINED = 0.6  # share of one image's content that must agree
RICH = 70  # cells with corners that prove a copy by themselves
ALL_FINE, CORRELATED = 0.998, 0.996  # either, for poorer content of whole images, unless blurred
RESIDUAL = 0.2  # of colours, for poorer content: JPEG at quality 30
SOFT_RESIDUAL = 0.1  # the same, after the sharper image was blurred
BLURRED_RESIDUAL, BLURRED = 0.25, 4.0  # the same, if its details had so many times the power
SAME_COLOUR = 8.0  # levels: of plain areas, for poorer content that was moved
CHANGED_STRUCTURE, CHANGED_PLAIN = 0.08, 0.1  # share of windows in other colours: recoloured
SAME_GROUND = 24.0  # levels between plain areas within the overlap and beyond it
RICH_TURNED = 45  # cells with corners, of content that was turned on one plain ground
OVERLAID = 0.4  # share of the overlap that something laid over it may take
BESIDE = 0.97  # agreement outside of that
RICH_BESIDE = 24  # cells with corners outside of that, unless it is a bar
KEPT, KEPT_BY_BAR = 0.85, 0.5  # share of one image's content that must be left
KEPT_BY_LOGO, LOGO = 0.95, 0.15  # the same beside a box of at most such a share of the overlap

Mask = Bool[np.ndarray, "a b"]
Canvas = Float32[np.ndarray, "a b 3"]


class Judgement(NamedTuple):
    """Whether an alignment shows a copy, an overlay, and other colours."""

    copied: bool
    overlaid: bool
    recoloured: bool


NO_COPY = Judgement(copied=False, overlaid=False, recoloured=False)


class Placement:
    """How one image lies on the other; each property is computed when first read."""

    def __init__(
        self, first: Pyramid, second: Pyramid, to_second: Affine, found: Agreement
    ) -> None:
        """Keep the images, the alignment, and their agreement under it."""
        self._pair, self._found = (first, second, to_second), found

    @cached_property
    def whole(self) -> bool:
        """Return whether each image covers all of the other one."""
        return is_whole(*self._pair)

    @cached_property
    def usual(self) -> bool:
        """Return whether editing can produce this placement."""
        return is_usual(*self._pair)

    @cached_property
    def telling(self) -> bool:
        """Return whether it proves more than how much plain ground surrounds the content."""
        upright = askew_by(self._pair[2]) < UPRIGHT
        return (
            (upright and keeps_size(*self._pair))
            or (not upright and richness(self._found.corners) >= RICH_TURNED)
            or not _has_one_ground(*self._pair, self._found)
        )


def judged(first: Pyramid, second: Pyramid, to_second: Affine, found: Agreement) -> Judgement:
    """Return whether two aligned images are copies, and what was done to their pixels.

    A copy agrees throughout the overlap, or everywhere except in one box that something covers.
    """
    throughout, box = _agrees_throughout(found), differing_box(found)
    beside = box.area <= OVERLAID and agreement_beside(found, box) >= BESIDE
    if not (throughout or beside):
        return NO_COPY
    kept = _kept_content(first, second, to_second, found)
    placement = Placement(first, second, to_second, found)
    if kept >= CONTAINED and throughout:
        if not _is_proven(found, placement):
            return NO_COPY
        overlaid = box.area <= OVERLAID and is_solid(found, box)
        return Judgement(True, overlaid, _is_recoloured(found, box if overlaid else NOTHING))
    if kept >= KEPT_BY_BAR and beside and _hides_little(found, box, kept, placement):
        return Judgement(True, True, _is_recoloured(found, box))
    return NO_COPY


def _has_one_ground(first: Pyramid, second: Pyramid, to_second: Affine, found: Agreement) -> bool:
    """Return whether everything beyond the overlap is more of the plain ground within it."""
    plain = found.coarse.known & ~found.coarse.in_either
    pairs = (
        (pixels_beyond(first, second, to_second), found.overlap.first),
        (pixels_beyond(second, first, inverted(to_second)), found.overlap.second),
    )
    return all(_is_ground(beyond, canvas[plain]) for beyond, canvas in pairs)


def _is_ground(beyond: Float64[np.ndarray, "n 3"], ground: Float32[np.ndarray, "m 3"]) -> bool:
    if not len(beyond) or not len(ground):
        return True
    off = np.abs(np.median(beyond, axis=0) - np.median(ground, axis=0)).max()
    return is_plain(beyond) and bool(off <= SAME_GROUND)


def _agrees_throughout(found: Agreement) -> bool:
    return (
        found.coarse.agreement >= SAME_COARSE
        and found.fine.agreement >= SAME_FINE
        and share(found.wrong_colours, found.coarse.known) <= WRONG
    )


def _hides_little(found: Agreement, box: Box, kept: float, placement: Placement) -> bool:
    """Return whether enough agrees around the box that contains all differences."""
    rich = richness(found.corners & box.outside(found.corners.shape))
    small = kept >= KEPT_BY_LOGO and box.area <= LOGO
    enough = box.is_bar or small or (kept >= KEPT and rich >= RICH_BESIDE)
    placed = placement.whole or rich >= RICH
    return enough and placed and _keeps_colours(found, box)


def _is_proven(found: Agreement, placement: Placement) -> bool:
    """Return whether agreement throughout the overlap proves a copy: see the module."""
    if richness(found.corners) >= RICH:
        return True
    if placement.whole:
        return _agrees_closely(found) and _keeps_colours(found, NOTHING)
    if not (placement.usual and placement.telling) or _is_recoloured(found, NOTHING):
        return False
    plain = found.coarse.known & ~found.coarse.in_either
    off = farther_than(Windows(found.overlap.first), Windows(found.overlap.second), SAME_COLOUR)
    return share(off, plain) <= CHANGED_PLAIN and _keeps_colours(found, NOTHING)


def _agrees_closely(found: Agreement) -> bool:
    """Return whether no spot differs: different symbols of equal size and place differ in one."""
    close = found.fine.agreement >= ALL_FINE or correlation(found) >= CORRELATED
    return close or _is_blurred(found)


def _keeps_colours(found: Agreement, box: Box) -> bool:
    """Return whether colours outside a box agree, after a known way to change them.

    They must agree both throughout and where there is structure. Blur is allowed for.
    """
    outside = box.outside(found.close.inside.shape)
    masks = found.close.inside & outside, found.plain.in_either & outside
    if _residual(found.close.first, found.close.second, masks) <= RESIDUAL:
        return True
    pair = Windows(found.close.first), Windows(found.close.second)
    soft = [each.canvas for each in equally_sharp(*pair, found.close.inside)]
    return _residual(soft[0], soft[1], masks) <= (
        BLURRED_RESIDUAL if _is_blurred(found) else SOFT_RESIDUAL
    )


def _is_blurred(found: Agreement) -> bool:
    """Return whether the details of one image have many times the power of the other one's."""
    low, high = sorted(
        sharpness(canvas, found.close.inside) for canvas in (found.close.first, found.close.second)
    )
    return high > BLURRED * low


def _residual(first: Canvas, second: Canvas, masks: tuple[Mask, Mask]) -> float:
    return max(named_residual(first, second, mask) for mask in masks)


def _is_recoloured(found: Agreement, box: Box) -> bool:
    outside = box.outside(found.coarse.agrees.shape)
    agreeing = found.coarse.agrees & found.coarse.in_either & outside
    plain = found.coarse.known & ~found.coarse.in_either & outside
    return (
        share(found.other_colours, agreeing) > CHANGED_STRUCTURE
        or share(found.other_colours, plain) > CHANGED_PLAIN
    )


def _kept_content(first: Pyramid, second: Pyramid, to_second: Affine, found: Agreement) -> float:
    """Return the share of an image's content that agrees: the larger share of the two."""
    polygon = shared_polygon(first, second, to_second)
    if polygon is None:
        return 0.0
    moved = polygon @ to_second[:, :2].T + to_second[:, 2]
    return max(
        _content_within(first, polygon) * share(found.coarse.agrees, found.coarse.in_first),
        _content_within(second, moved) * share(found.coarse.agrees, found.coarse.in_second),
    )


def _content_within(pyramid: Pyramid, polygon: Float64[np.ndarray, "n 2"]) -> float:
    """Return the share of an image's windows with structure that lie in a polygon."""
    height, width = pyramid.structured.shape
    scale = width / pyramid.size[1], height / pyramid.size[0]
    within = np.zeros((height, width), np.uint8)
    cv2.fillConvexPoly(within, np.rint(polygon * scale - 0.5).astype(np.int32), [1])
    return share(within.astype(bool), pyramid.structured)
