"""Aligns an image with a part of another by its grey values, for drawings with few features.

Each image, at falling sizes, is searched for within the other one, by the correlation of their
grey values: at half the sizes first, then at the likeliest of them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import cv2
import numpy as np
from jaxtyping import Float32

from clipaudit.copies.alignment import Candidate
from clipaudit.copies.pyramids import Affine, Pyramid, inverted

SIDE = 80  # pixels, longer side of the image that is searched
SCALES = tuple(1.1**-step for step in range(16))  # of the part's share of a side: down to 0.24
FINER = 4  # sizes, the likeliest at half of them, that are looked for
LEAST_PART = 10  # pixels: a smaller part correlates with anything
LIKELY = 0.6  # correlation of a part with its place: less is none
SOFTER = 0.15  # by which it may be higher than at half the size, of 6,800 places at most 0.148
LEAST_SPREAD = 4.0  # levels: a plainer part correlates with nothing

Plane = Float32[np.ndarray, "_ _"]  # two planes of a function may differ in size


class Template(NamedTuple):
    """The grey values of an image at SCALES and at half of them, and the size of its frame."""

    planes: tuple[Plane, ...]
    halves: tuple[Plane, ...]
    telling: tuple[bool, ...]  # which of the planes are large and varied enough
    size: tuple[int, int]


def template_of(pyramid: Pyramid) -> Template:
    """Return the grey values of an image at falling sizes."""
    scales = [SIDE * scale / max(pyramid.size) for scale in SCALES]
    planes, halves = (tuple(_grey(pyramid, part * each) for each in scales) for part in (1, 0.5))
    return Template(planes, halves, tuple(map(_is_telling, planes)), pyramid.size)


def template_candidates(first: Template, second: Template) -> list[Candidate]:
    """Return the likeliest places of the first in the second, and of the second in the first.

    Each is tried unchanged and mirrored. Likeliest first; at most one for each of the four cases.
    Places that correlate with the part by less than LIKELY are left out.
    """
    back = [
        Candidate(place.likeness, inverted(place.to_second)) for place in _places(second, first)
    ]
    found = [place for place in [*_places(first, second), *back] if place.likeness >= LIKELY]
    return sorted(found, key=lambda candidate: -candidate.likeness)


def _places(part: Template, host: Template) -> list[Candidate]:
    """Return where the part fits the host best at any size: unchanged, and mirrored."""
    field, half = host.planes[0], host.halves[0]
    sizes = [
        size for size, plane in enumerate(part.planes) if part.telling[size] and _fits(plane, field)
    ]
    found = []
    for mirrored in (False, True):
        roughly = {
            size: _place(_within(part.halves[size], half), half, mirrored=mirrored)[0]
            for size in sizes
        }
        hopeful = [size for size in sizes if roughly[size] >= LIKELY - SOFTER]
        likeliest = sorted(hopeful, key=lambda size: -roughly[size])[:FINER]
        places = [
            (*_place(part.planes[size], field, mirrored=mirrored), part.planes[size].shape)
            for size in sorted(likeliest)
        ]
        if places:
            most, at, shape = max(places, key=lambda place: place[0])
            to_host = _map(part, host, shape, field.shape, at, mirrored=mirrored)
            found.append(Candidate(most, to_host))
    return found


def _is_telling(plane: Plane) -> bool:
    return bool(min(plane.shape) >= LEAST_PART and _spread(plane) >= LEAST_SPREAD)


def _fits(small: Plane, field: Plane) -> bool:
    return bool(small.shape[0] <= field.shape[0] and small.shape[1] <= field.shape[1])


def _within(small: Plane, field: Plane) -> Plane:
    """Return a part cut to the size of the field, which rounding may have made a pixel smaller."""
    return small[: field.shape[0], : field.shape[1]]


def _place(small: Plane, field: Plane, *, mirrored: bool) -> tuple[float, Sequence[int]]:
    """Return the correlation and the corner of the place in a field that is most like a part."""
    shown = cv2.flip(small, 1) if mirrored else small
    _, most, _, at = cv2.minMaxLoc(cv2.matchTemplate(field, shown, cv2.TM_CCOEFF_NORMED))
    return most, at


def _spread(plane: Plane) -> float:
    return float(cv2.meanStdDev(plane)[1].item())


def _map(
    part: Template,
    host: Template,
    small: tuple[int, ...],
    field: tuple[int, ...],
    at: Sequence[int],
    *,
    mirrored: bool,
) -> Affine:
    """Return the map from the part's frame to the host's, from sizes at which it was found."""
    across, down = (host.size[axis] / field[axis] for axis in (1, 0))
    wide, high = across * small[1] / part.size[1], down * small[0] / part.size[0]
    affine = np.array([[wide, 0, at[0] * across], [0, high, at[1] * down]])
    if mirrored:
        affine[0] = -wide, 0, affine[0, 2] + wide * part.size[1]
    return affine


def _grey(pyramid: Pyramid, scale: float) -> Plane:
    height, width = (max(1, round(length * scale)) for length in pyramid.size)
    level = pyramid.level_near(0.7 / scale)
    how = cv2.INTER_AREA if level.shape[0] >= height else cv2.INTER_LINEAR
    small = cv2.resize(level, (width, height), interpolation=how)
    return cv2.cvtColor(small, cv2.COLOR_RGB2GRAY).astype(np.float32)
