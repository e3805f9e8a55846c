"""Verifies from the pixels whether two images are copies of each other, cheapest test first.

1. Equal arrays.
2. Aligned directly: whole images, or the parts inside their borders, in eight mirrors and
   quarter turns.
3. Aligned by SIFT features and RANSAC, also mirrored; then, for drawings with few features, one
   image is searched for within the other by its grey values. Pairs that were found by their whole
   images, or by the parts inside their borders, do not need this: see `views.DIRECT`.

After 2 and 3, the agreement of their content is measured over the overlap (`agreement`), and judged
(`judging`).

Limits were tuned on the Open Clip Art Library 0.18 (longer side at most 512 pixels) and on the
drawn world of the demo. 300 drawings were drawn with a seed; a sixth of them are star polygons that
look like thin grey rings. The shares verified, of all and of the others alone, are:

    half size                 1.00 1.00    mirrored                   1.00 1.00
    JPEG of quality 30         .92  .96    turned by 90 degrees        .97  .99
    quarter size               .95  .94    turned by 10, black corners .62  .74
    blur of radius 3           .90  .88    turned by 10, white corners .55  .55
    noise of 8 levels          .98 1.00    crop to 90 % of the sides   .98  .98
    brightness x .6            .99  .98    crop to 75 %                .91  .97
    grey                      1.00 1.00    black border of 40 pixels   .97  .97
    channels exchanged        1.00 1.00    bar over the lower fifth    .65  .74
                                           pasted at 300 pixels        .62  .72

Missed copies are flat: icons of 60 pixels, rings, a line on a white ground. Of 100 drawings and
their 20 nearest others by PDQ, 1,692 pairs are not both stars: 30 of them are equal, and 28 are
called copies, 20 rightly (13 in other colours, 6 turned or with other margins, 1 re-encoded); the
other 8 differ in a part (4 pieces of a puzzle, 2 signs with an arrow more, 2 more). Of 308 pairs
of stars, 19 are called copies, of 400 random pairs none. docs/copies.md counts the same in drawn
worlds.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import cv2
import numpy as np
from jaxtyping import UInt8

from clipaudit.copies.agreement import (
    AGREED,
    Agreement,
    Alignment,
    agreement,
    aligned,
    correlation,
    in_plain_colours,
)
from clipaudit.copies.alignment import box_candidates, refined
from clipaudit.copies.compared import Compared
from clipaudit.copies.edits import placed_edits
from clipaudit.copies.features import feature_candidates
from clipaudit.copies.judging import Judgement, judged
from clipaudit.copies.overlaps import covered_shares
from clipaudit.copies.pyramids import LEAST_SIDE, Affine, Pyramid
from clipaudit.copies.templates import template_candidates

Kind = Literal["identical pixels", "re-encoded or resized", "edited", "lookalike"]
Method = Literal["pixels", "aligned", "features"]

BOXES, TEMPLATES = 3, 2  # likeliest candidates that are measured
LIKELY = 0.5  # likeness of thumbnails, of at most 2, from which whole images are aligned
LESS = 0.25  # likeness of thumbnails, of at most 2, by which candidates may be behind the first
PROMISING = 0.2  # coarse agreement from which an alignment is refined
CLOSE = 0.7  # and from which it is refined on the fine canvas
AHEAD = 0.01  # of coarse agreement, by which a less likely alignment must be better
GAIN = 0.005  # of agreement, by which a refined alignment is taken
SAME_PLACE = 1e-6  # pixels: two ways led to one alignment
PLAIN = 2.0  # levels: images that vary less, at 16 x 16 pixels, show nothing
NEAR = 12.0  # levels by which such images, and tiny ones, may differ
GLANCE = 32  # pixels at which they are compared


class Verdict(NamedTuple):
    """The kind of a pair of images, and the numbers that decided it.

    `edits` is sorted, of `clipaudit.copies.edits.EDITS`, and empty unless the kind is "edited".
    `agreement` is the share of the content in the overlap that agrees, `covered_first` and
    `covered_second` are the overlap's share of each image's area, `correlation` is that of colours
    over the overlap, `inliers` counts the features that fit the alignment. A lookalike has those of
    the best alignment found.
    """

    kind: Kind
    edits: tuple[str, ...]
    method: Method
    agreement: float
    covered_first: float
    covered_second: float
    correlation: float
    inliers: int


class Finding(NamedTuple):
    """An alignment, what was measured under it, and what follows."""

    to_second: Affine
    found: Agreement
    judgement: Judgement
    method: Method
    inliers: int

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Return the sort key of findings: copies first, among them those without overlays."""
        return self.judgement.copied, not self.judgement.overlaid, self.found.score


def verify(first: UInt8[np.ndarray, "h w 3"], second: UInt8[np.ndarray, "a b 3"]) -> Verdict:
    """Return whether one image is a copy of the other, and by what edits.

    The order of the two changes only which is covered how far. The same images give the same
    verdict in any process. Images may have any size from 1 x 1 pixel; those with a side below 8
    pixels, and plain ones, are copies if they are nearly equal.

    >>> plain = np.full((40, 60, 3), 200, np.uint8)
    >>> verify(plain, plain[:20, :30]).kind, verify(plain, plain // 2).kind
    ('re-encoded or resized', 'lookalike')
    """
    return verify_compared(Compared(first), Compared(second))


def verify_compared(first: Compared, second: Compared, *, directly: bool = False) -> Verdict:
    """Return what `verify` returns, for images that keep what is computed from them.

    If `directly`, they are only aligned as whole images and by the parts inside their borders.
    """
    if first.rgb.shape == second.rgb.shape and np.array_equal(first.rgb, second.rgb):
        return Verdict("identical pixels", (), "pixels", 1.0, 1.0, 1.0, 1.0, 0)
    if not _comes_later(first.rgb, second.rgb):
        return _verified(first, second, directly=directly)
    verdict = _verified(second, first, directly=directly)
    return verdict._replace(
        covered_first=verdict.covered_second, covered_second=verdict.covered_first
    )


def _comes_later(first: UInt8[np.ndarray, "h w 3"], second: UInt8[np.ndarray, "a b 3"]) -> bool:
    """Order two images by size, then by their pixels."""
    one, two = (first.size, *first.shape), (second.size, *second.shape)
    return one > two or (one == two and first.tobytes() > second.tobytes())


def _verified(first: Compared, second: Compared, *, directly: bool) -> Verdict:
    pair = first.pyramid, second.pyramid
    sides = *pair[0].size, *pair[1].size
    if min(sides) < LEAST_SIDE or all(_is_plain(pyramid) for pyramid in pair):
        return _compared_at_a_glance(*pair)
    best = None
    for finding in _findings(first, second, directly=directly):
        if best is None or finding.rank > best.rank:
            best = finding
        if best.judgement.copied:
            break
    return _verdict(*pair, best)


def _findings(one: Compared, two: Compared, *, directly: bool) -> Iterator[Finding]:
    """Yield the findings of each way to align two images, the cheapest first."""
    first, second = one.pyramid, two.pyramid
    candidates = box_candidates(one.thumbs, two.thumbs, BOXES)
    least = max(LIKELY, candidates[0].likeness - LESS) if candidates else LIKELY
    boxes = [each.to_second for each in candidates if each.likeness > least]
    whole = _best_of(first, second, boxes, least=PROMISING)
    yield from _measured(first, second, whole, "aligned", 0)
    if directly:
        return
    for matched in feature_candidates(one.features, two.features, second.size):
        placed = _best_of(first, second, [matched.to_second], least=PROMISING)
        yield from _measured(first, second, placed, "features", matched.inliers)
    places = template_candidates(one.template, two.template)[:TEMPLATES]
    to_places = (each.to_second for each in places)
    placed = _best_of(first, second, to_places, least=PROMISING, known=whole)
    if placed is not whole:
        yield from _measured(first, second, placed, "aligned", 0)


def _measured(
    first: Pyramid, second: Pyramid, alignment: Alignment | None, method: Method, inliers: int
) -> Iterator[Finding]:
    """Yield what an alignment shows once it is refined; nothing, if the images do not overlap."""
    found = None if alignment is None else agreement(first, second, alignment)
    if alignment is None or found is None:
        return
    to_second, found = _refined(first, second, alignment.to_second, found)
    yield from (
        Finding(to_second, seen, judged(first, second, to_second, seen), method, inliers)
        for seen in _seen(found)
    )


def _seen(found: Agreement) -> Iterator[Agreement]:
    """Yield the agreement, preceded by the one in plain colours if colours were mapped."""
    if found.colours is not None and found.unmapped.agreement > CLOSE:
        yield in_plain_colours(found)
    yield found


def _best_of(
    first: Pyramid,
    second: Pyramid,
    candidates: Iterable[Affine],
    *,
    least: float,
    known: Alignment | None = None,
) -> Alignment | None:
    """Return the alignment of the highest coarse agreement, at least `least`.

    The earlier one wins, unless a later one is ahead by 0.01. A candidate with the alignment of
    `known` is `known`.
    """
    best, most = None, least - AHEAD
    for to_second in candidates:
        same = known is not None and np.abs(known.to_second - to_second).max() < SAME_PLACE
        alignment = known if same else aligned(first, second, to_second)
        reached = -1.0 if alignment is None else alignment.coarse.best.agreement
        if reached >= most + AHEAD:
            best, most = alignment, reached
        if most >= AGREED:
            break
    return best


def _refined(
    first: Pyramid, second: Pyramid, to_second: Affine, found: Agreement
) -> tuple[Affine, Agreement]:
    """Move an alignment to where the canvases agree better: twice coarsely, then finely."""
    tried = None
    for fine in (False, False, True):
        if found.score >= AGREED or found.coarse.agreement < (CLOSE if fine else PROMISING):
            continue
        if not fine and found is tried:  # the first move was no better: so is the second
            continue
        tried = found
        structure, overlap = (found.fine, found.close) if fine else (found.coarse, found.overlap)
        moved = refined(structure.first.canvas, structure.second.canvas, overlap, to_second)
        alignment = None if moved is None else aligned(first, second, moved)
        wanted = found.score + GAIN
        if alignment is None or alignment.coarse.best.agreement <= wanted:
            continue
        again = agreement(first, second, alignment)
        if again is not None and again.score > wanted:
            to_second, found = alignment.to_second, again
    return to_second, found


def _verdict(first: Pyramid, second: Pyramid, best: Finding | None) -> Verdict:
    if best is None:
        return Verdict("lookalike", (), "aligned", 0.0, 0.0, 0.0, 0.0, 0)
    edits = _edits(first, second, best)
    kind: Kind = "edited" if edits else "re-encoded or resized"
    return Verdict(
        kind if best.judgement.copied else "lookalike",
        edits,
        best.method,
        best.found.score,
        *covered_shares(first, second, best.to_second),
        correlation(best.found),
        best.inliers,
    )


def _edits(first: Pyramid, second: Pyramid, best: Finding) -> tuple[str, ...]:
    if not best.judgement.copied:
        return ()
    edits = placed_edits(first, second, best.to_second)
    edits |= {"overlaid"} if best.judgement.overlaid else set()
    edits |= {"recoloured"} if best.judgement.recoloured else set()
    return tuple(sorted(edits))


def _is_plain(pyramid: Pyramid) -> bool:
    small = cv2.resize(pyramid.levels[0], (16, 16), interpolation=cv2.INTER_AREA)
    return float(np.std(small, axis=(0, 1)).max()) < PLAIN


def _compared_at_a_glance(first: Pyramid, second: Pyramid) -> Verdict:
    """Compare two images at the size of the smaller one, and that of the larger one."""
    sizes = np.minimum([first.size[::-1], second.size[::-1]], GLANCE)
    same = _off(first, second, sizes.min(axis=0)).max() <= NEAR
    same = same and _off(first, second, sizes.max(axis=0)).mean() <= NEAR
    kind: Kind = "re-encoded or resized" if same else "lookalike"
    return Verdict(kind, (), "aligned", *(float(same),) * 4, 0)


def _off(first: Pyramid, second: Pyramid, size: np.ndarray) -> np.ndarray:
    """Return how far two images differ at a size (width, height), in levels."""
    one, two = (
        cv2.resize(pyramid.levels[0], size.tolist(), interpolation=cv2.INTER_AREA)
        for pyramid in (first, second)
    )
    return np.asarray(cv2.absdiff(one, two))
