"""Finds the uniform borders of an image: margins, letterboxes, frames of a screenshot.

Each side has its own colour, the median of its outermost line. A line belongs to the border as
long as nearly all of its pixels are near that colour; JPEG noise is allowed for. Borders within
borders are removed too: an image in a white margin and a black frame is cut to the same box as
one in the margin alone.
"""

from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float64, UInt8

TOLERANCE = 16  # levels of 255, per channel: the noise of JPEG at quality 30 in a plain area
SPARED_SHARE = 0.005  # of a line's pixels that may differ: ringing of JPEG beside sharp edges
ROUNDS = 4  # borders within borders that are looked for


class Box(NamedTuple):
    """Rows top to bottom and columns left to right of an image, ends not included, in pixels."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def height(self) -> int:
        """Return the number of rows."""
        return self.bottom - self.top

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return self.right - self.left

    @property
    def ratio(self) -> float:
        """Return height by width."""
        return self.height / self.width

    def cut(self, rgb: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "a b 3"]:
        """Return the part of the image inside the box, as a view."""
        return rgb[self.top : self.bottom, self.left : self.right]


def content_box(rgb: UInt8[np.ndarray, "h w 3"]) -> Box:
    """Return the box inside the uniform borders of an image.

    This is the whole image if it has no borders, or if nothing would be left (a uniform image).

    >>> image = np.zeros((6, 8, 3), np.uint8)
    >>> image[2:5, 1:4] = np.arange(0, 243, 27).reshape(3, 3, 1)
    >>> content_box(image)
    Box(top=2, bottom=5, left=1, right=4)
    """
    whole = box = Box(0, rgb.shape[0], 0, rgb.shape[1])
    for _ in range(ROUNDS):
        before = box
        for side in range(4):
            box = _trimmed(rgb, box, side)
            if box.bottom <= box.top or box.right <= box.left:
                return whole if before == whole else before
        if box == before:
            break
    return box


def _trimmed(rgb: UInt8[np.ndarray, "h w 3"], box: Box, side: int) -> Box:
    """Move one side of the box (0 to 3: top, bottom, left, right) to its first line of content."""
    lines = _lines_from(box.cut(rgb), side)
    colour = _median(lines[0])
    depth, step = 0, 1
    while depth < len(lines):
        content = ~_uniform_lines(lines[depth : depth + step], colour, side)
        if content.any():
            depth += int(content.argmax())
            break
        depth, step = min(depth + step, len(lines)), 2 * step  # reads little besides the border
    moved = list(box)
    moved[side] += -depth if side % 2 else depth
    return Box(*moved)


def _lines_from(part: UInt8[np.ndarray, "a b 3"], side: int) -> UInt8[np.ndarray, "n m 3"]:
    """Order the lines along a side from the outside to the inside."""
    lines = part if side < 2 else part.transpose(1, 0, 2)
    return lines[::-1] if side % 2 else lines


def _uniform_lines(lines: UInt8[np.ndarray, "n m 3"], colour: np.ndarray, side: int) -> np.ndarray:
    """Return which lines have nearly all pixels near a colour."""
    rows = lines if side < 2 else lines.transpose(1, 0, 2)  # in memory order: faster
    low, high = np.ceil(colour - TOLERANCE), np.floor(colour + TOLERANCE)
    near = cv2.inRange(np.ascontiguousarray(rows), low, high)
    counts = cv2.reduce(near, int(side < 2), cv2.REDUCE_SUM, dtype=cv2.CV_32S).ravel() // 255
    return np.asarray(counts >= (1 - SPARED_SHARE) * lines.shape[1])


def _median(line: UInt8[np.ndarray, "m 3"]) -> Float64[np.ndarray, " 3"]:
    """Return the median colour; np.median is slow for so few pixels."""
    ordered = np.sort(line, axis=0).astype(np.float64)
    return np.asarray((ordered[len(line) // 2] + ordered[(len(line) - 1) // 2]) / 2)
