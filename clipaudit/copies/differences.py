"""Finds where two aligned images differ: throughout, or in one box that something covers."""

from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Bool

from clipaudit.copies.agreement import Agreement
from clipaudit.copies.structure import share

GROWN = 0.03  # of a side: windows reach over the edge of what differs
AT_EDGE = 0.05  # of a side, from the edge of the overlap
SOLID = 0.3  # of a box that differs
BAR = 0.9  # of a side that a caption bar takes

Mask = Bool[np.ndarray, "a b"]


class Box(NamedTuple):
    """Part of a canvas, as shares of its sides."""

    top: float
    bottom: float
    left: float
    right: float

    @property
    def area(self) -> float:
        """Return the share of the canvas; of an empty box: 0."""
        return max(0.0, self.bottom - self.top) * max(0.0, self.right - self.left)

    @property
    def is_bar(self) -> bool:
        """Return whether the box covers one whole side of the canvas."""
        at_edge = min(self.top, self.left, 1 - self.bottom, 1 - self.right) < AT_EDGE
        return at_edge and max(self.bottom - self.top, self.right - self.left) > BAR

    def outside(self, shape: tuple[int, ...]) -> Mask:
        """Return the pixels of a canvas that are not in the box."""
        mask = np.ones(shape, bool)
        rows = slice(int(self.top * shape[0]), int(np.ceil(self.bottom * shape[0])))
        columns = slice(int(self.left * shape[1]), int(np.ceil(self.right * shape[1])))
        mask[rows, columns] = False
        return mask


NOTHING = Box(0.0, 0.0, 0.0, 0.0)


def differing_box(found: Agreement) -> Box:
    """Return the box around all differences on either canvas, except specks."""
    spans = _span(found.coarse.differs | found.wrong_colours), _span(found.fine.differs)
    spans_found = [span for span in spans if span is not None]
    if not spans_found:
        return NOTHING
    tops, bottoms, lefts, rights = zip(*spans_found, strict=True)
    return Box(
        max(0.0, min(tops) - GROWN),
        min(1.0, max(bottoms) + GROWN),
        max(0.0, min(lefts) - GROWN),
        min(1.0, max(rights) + GROWN),
    )


def _span(differs: Mask) -> tuple[float, float, float, float] | None:
    opened = cv2.morphologyEx(differs.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    rows, columns = np.flatnonzero(opened.any(axis=1)), np.flatnonzero(opened.any(axis=0))
    if not len(rows):
        return None
    height, width = differs.shape
    top, bottom = float(rows[0] / height), float((rows[-1] + 1) / height)
    return top, bottom, float(columns[0] / width), float((columns[-1] + 1) / width)


def is_solid(found: Agreement, box: Box) -> bool:
    """Return whether the area of a box differs, rather than some lines in it."""
    inside = ~box.outside(found.coarse.agrees.shape)
    return share(found.coarse.differs | found.wrong_colours, inside) > SOLID


def agreement_beside(found: Agreement, box: Box) -> float:
    """Return the lower one of the coarse and the fine agreement outside of a box."""
    return min(
        share(structure.agrees, structure.in_either & box.outside(structure.agrees.shape))
        for structure in (found.coarse, found.fine)
    )
