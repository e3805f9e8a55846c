"""Calibrates on a run's own images: makes copies of some, and searches for them among the others.

The thresholds follow from the distances and similarities of such copies, and from those of pairs
that are not copies. See `copies.calibration` and `copies.thresholds`.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float16, Int64

from clipaudit.copies.calibration import (
    Measured,
    calibration_table,
    measure_distances,
    measure_similarities,
)
from clipaudit.copies.calibration_pairs import MadeCopies, is_within, pairs_within
from clipaudit.copies.compared import Compared
from clipaudit.copies.fixed import HASH, MAX_DISTANCE
from clipaudit.copies.hash_distances import (
    Hashed,
    hash_distances,
    hashed,
    near_thumbnails,
    nearest_view,
)
from clipaudit.copies.hashing import pixels_digest
from clipaudit.copies.kinds import LOOKALIKE
from clipaudit.copies.thresholds import (
    ADVISED_DISTANCE,
    Choice,
    choose_threshold,
    row_of,
    thresholds_table,
)
from clipaudit.copies.transformations import WAYS, made
from clipaudit.copies.verification import verify, verify_compared
from clipaudit.copies.verified import COMPARED_SIDE, HELD
from clipaudit.copies.views import DIRECT, Rgb, reduced, test_views, train_views
from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.places import places
from clipaudit.models.spread import spread
from clipaudit.neighbors.cosines import cosines
from clipaudit.progress import Progress

WORTH_A_PROCESS = 400  # copies: some five seconds

Embed = Callable[[Sequence[Rgb]], Float16[np.ndarray, "n d"]]

_log = logging.getLogger(__name__)


class Calibrated(NamedTuple):
    """CALIBRATION and THRESHOLDS of one method."""

    calibration: pa.Table
    thresholds: pa.Table


def pick_originals(
    samples: Mapping[str, pa.Table], *, count: int, seed: int
) -> dict[str, Int64[np.ndarray, " n"]]:
    """Return the addresses of the originals by corpus: the first `count` in the order of `seed`.

    Samples of several corpora that share a place are taken in the order of the corpora. If there
    are fewer than `count`, all are returned.
    """
    ranked = []
    for position, table in enumerate(samples.values()):
        shard, row = (table[name].to_numpy() for name in ("shard", "row"))
        order = places(shard, row, seed=seed)
        addresses = sample_addresses(table)
        ranked += [
            (int(place), position, int(at)) for place, at in zip(order, addresses, strict=True)
        ]
    chosen = sorted(ranked)[:count]
    return {
        corpus: np.array(sorted(at for _, where, at in chosen if where == position), np.int64)
        for position, corpus in enumerate(samples)
    }


def calibrate_hashes(
    originals: Sequence[Rgb], *, per_million: float, distance: int | None, workers: int = 1
) -> Calibrated:
    """Return which made copies hashes find, at the given distance or the chosen one.

    The longer side of an original is at most COMPARED_SIDE. Up to `workers` processes make, hash
    and verify copies.
    """
    copies = plan_copies(len(originals))
    views = [hashed(test_views(each)) for each in originals]

    def compared(some: Sequence[int]) -> Iterator[tuple[Hashed, Int64[np.ndarray, " o"]]]:
        found = [hashed(train_views(copy)) for copy in make_copies(originals, copies, some)]
        return zip(found, hash_distances(found, views), strict=True)

    numbers = len(copies.original)
    found = list(spread(compared, numbers, workers=workers, each=WORTH_A_PROCESS))
    made_ones = [copy for copy, _ in found]
    rows = [row for _, row in found]
    blocks = [np.array(rows, np.int64).reshape(numbers, len(originals))]
    repeats = _repeats(originals, views)
    thumbnails = np.array(
        [
            near_thumbnails(copy, views[at])
            for at, copy in zip(copies.original, made_ones, strict=True)
        ],
        dtype=bool,
    )
    measured = measure_distances(
        copies,
        repeats,
        blocks,
        originals=len(originals),
        largest=MAX_DISTANCE,
        also_found=thumbnails,
    )
    choice = _choice(measured, per_million, distance, advised=ADVISED_DISTANCE)

    def directly(copy: int, original: int) -> bool:
        within = -1 if choice.threshold is None else choice.threshold
        return nearest_view(made_ones[copy], views[original], within=within) in DIRECT

    return _calibrated(
        HASH,
        originals,
        copies,
        repeats,
        blocks,
        measured,
        choice,
        per_million,
        thumbnails,
        directly=directly,
        workers=workers,
    )


def calibrate_encoder(
    encoder: str,
    originals: Sequence[Rgb],
    embed: Embed,
    *,
    per_million: float,
    similarity: float | None,
) -> Calibrated:
    """Return which made copies an encoder finds, at the given similarity or the chosen one.

    `embed` gives the stored form of embeddings: unit length, float16, one row per image.
    """
    copies = plan_copies(len(originals))
    known = embed(originals)
    blocks = _in_blocks(make_copies(originals, copies), 256)
    found = [cosines(embed(block), known) for block in blocks]
    repeats = _repeats(originals, [hashed(test_views(each)) for each in originals])
    measured = measure_similarities(
        copies,
        repeats,
        lambda: found,
        originals=len(originals),
        per_million=per_million,
        given=similarity,
    )
    choice = _choice(measured, per_million, similarity)
    return _calibrated(
        encoder,
        originals,
        copies,
        repeats,
        found,
        measured,
        choice,
        per_million,
        None,
        directly=lambda copy, original: False,
    )


def plan_copies(originals: int) -> MadeCopies:
    """Return the copies to make: each original in each of WAYS, by original, then way.

    An original that is pasted on another image is pasted on the next original.
    """
    original = np.repeat(np.arange(originals), len(WAYS))
    position = np.tile(np.arange(len(WAYS)), originals)
    pasted = np.array([way.transformation == "on another image" for way in WAYS])[position]
    background = np.where(pasted, (original + 1) % max(1, originals), -1)
    return MadeCopies(original, position, background)


def make_copies(
    originals: Sequence[Rgb], copies: MadeCopies, which: Iterable[int] | None = None
) -> Iterator[Rgb]:
    """Yield all copies, or those with the given numbers, in order.

    Random choices depend on an original's pixels, not on the name of its corpus.
    """
    numbers = range(len(copies.original)) if which is None else which
    progress = Progress(_log, "making copies", total=len(copies.original), unit="copies")
    for done, number in enumerate(numbers):
        own, way = originals[copies.original[number]], WAYS[copies.position[number]]
        background = int(copies.background[number])
        other = originals[background] if background >= 0 else None
        address = (pixels_digest(own),)
        yield made(way.transformation, way.value, own, address=address, other=other)
        progress.note(done + 1)


def _calibrated(
    method: str,
    originals: Sequence[Rgb],
    copies: MadeCopies,
    repeats: Int64[np.ndarray, "r 2"],
    blocks: Sequence[np.ndarray],
    measured: Measured,
    choice: Choice,
    per_million: float,
    also_found: Bool[np.ndarray, " c"] | None,
    *,
    directly: Callable[[int, int], bool],
    workers: int = 1,
) -> Calibrated:
    """Verify what is found and return both tables; `directly` says how to align a pair."""
    found = None if choice.threshold is None else is_within(measured.own, choice.threshold)
    if also_found is not None:
        found = also_found if found is None else found | also_found
    own, wrong = [], []
    if found is not None:
        own = [(at, int(copies.original[at])) for at in np.flatnonzero(found).tolist()]
    if choice.threshold is not None:
        within = pairs_within(copies, repeats, blocks, choice.threshold, originals=len(originals))
        pairs = zip(within.copy.tolist(), within.original.tolist(), within.own, strict=True)
        wrong = [(copy, original) for copy, original, is_own in pairs if not is_own]
    asked = sorted([*own, *wrong])
    verdicts = _verify(originals, copies, asked, directly, workers)
    are_copies = dict(zip(asked, verdicts, strict=True))
    verified, false_positives = None, None
    if found is not None:
        verified = np.zeros(len(found), bool)
        verified[found] = [are_copies[pair] for pair in own]
    if choice.threshold is not None:
        false_positives = sum(are_copies[pair] for pair in wrong)
    thresholds = thresholds_table(
        method,
        measured.curve,
        choice,
        per_million=per_million,
        verified_false_positives=false_positives,
    )
    return Calibrated(calibration_table(method, copies, found, verified), thresholds)


def _choice(
    measured: Measured, per_million: float, given: float | None, advised: float | None = None
) -> Choice:
    """Return the chosen row of the curve, or the loosest row as strict as a given threshold."""
    if given is not None:
        row = row_of(measured.curve, given)
        return Choice(row, float(given), True, "The settings name it.")
    return choose_threshold(measured.curve, per_million=per_million, advised=advised)


def _verify(
    originals: Sequence[Rgb],
    copies: MadeCopies,
    pairs: Sequence[tuple[int, int]],
    directly: Callable[[int, int], bool],
    workers: int,
) -> list[bool]:
    """Return for each pair (copy, original), sorted, whether pixels call it a copy.

    `directly` says which pairs are only aligned directly, as an audit decides by the view. The
    pairs of a copy are verified together, so that it is made once.
    """

    def verdicts(some: Sequence[int]) -> Iterator[bool]:
        opened = lru_cache(HELD)(lambda original: Compared(originals[original]))
        own = [pairs[at] for at in some]
        images = make_copies(originals, copies, dict.fromkeys(copy for copy, _ in own))
        for (number, of_copy), image in zip(groupby(own, itemgetter(0)), images, strict=True):
            copy = Compared(reduced(image, COMPARED_SIDE))
            for _, original in of_copy:
                is_direct = directly(number, original)
                verdict = verify_compared(opened(original), copy, directly=is_direct)
                yield verdict.kind != LOOKALIKE

    return list(spread(verdicts, len(pairs), workers=workers, each=WORTH_A_PROCESS))


def _repeats(originals: Sequence[Rgb], views: Sequence[Hashed]) -> Int64[np.ndarray, "r 2"]:
    """Return the pairs of originals that are copies of each other: they are no false positives.

    `views` are the hashes of their test views.
    """
    whole = [hashed(train_views(each)) for each in originals]
    near = np.tril(hash_distances(whole, views) <= MAX_DISTANCE, -1)
    found = [
        (first, second)
        for second, first in np.argwhere(near).tolist()
        if verify(originals[first], originals[second]).kind != LOOKALIKE
    ]
    return np.array(found, np.int64).reshape(len(found), 2)


def _in_blocks(images: Iterable[Rgb], size: int) -> Iterator[list[Rgb]]:
    block: list[Rgb] = []
    for image in images:
        block.append(image)
        if len(block) == size:
            yield block
            block = []
    if block:
        yield block
