"""Curate training sets of equal size with much or little text in their images.

Lin et al., ECCV 2024, Sec. 6 and 8, Tables 2-5, 8, 10-13, Fig. 7: https://arxiv.org/abs/2312.14232.
The paper samples at random without saying how. Here all curations of one seed take the first
samples of one random order of addresses. So new shards displace few samples, and curating a part
needs only its own samples. The two sets of Fig. 7 are taken first and left out of all others.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from clipaudit.corpora.manifests import prune_manifest
from clipaudit.corpora.places import places
from clipaudit.errors import InputError, TooSmall
from clipaudit.parrot.criteria import (
    CuratedPart,
    Curation,
    criterion,
    refusals,
    top_scores,
)
from clipaudit.parrot.kinds import TOP

_log = logging.getLogger(__name__)

HELD_OUT = "held out"
NOT_DRAWN = "not drawn"

SPARE_PLACES = 65_536  # gathered beyond the size before they are cut back: memory, never results

# One row: how far into the random order a curation reaches.
CUT = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("criterion", pa.string(), nullable=False),  # the condition on a sample, as text
        pa.field("asked", pa.int64()),  # number of samples; null: all
        pa.field("available", pa.int64(), nullable=False),  # eligible samples, not held out
        pa.field("last", pa.uint64()),  # the place of the last sample taken; null: none is taken
        pa.field("score", pa.float64()),  # its score; null: scores do not order the samples
    ]
)

HeldOut = Sequence[tuple[Curation, pa.Table]]  # each with its CUT

# The numbers that order samples, each an array over samples; a later one breaks ties of those
# before it. The last one is a sample's place, which no other sample shares.
_Order = tuple[np.ndarray, ...]


class Candidates:
    """Finds the cut of a curation in the random order, while the parts stream by.

    Memory: 8 bytes for each requested sample, and a quarter more (or SPARE_PLACES); twice that if
    scores order the samples.
    """

    def __init__(self, curation: Curation, held_out: HeldOut = ()) -> None:
        """Begin without a sample; `held_out` are sets whose samples are not eligible."""
        self._curation = curation
        self._held_out = held_out
        self._criteria: set[str] = set()
        self._available = 0
        self._last: tuple[Any, ...] | None = None  # no sample after this one can be taken
        self._early: list[_Order] = []
        self._held = 0

    def add(self, part: CuratedPart) -> None:
        """Let the samples of a part compete; parts may come in any order."""
        self._criteria.add(criterion(self._curation, part))
        eligible = _eligible(self._curation, part, self._held_out)
        found = _taking(_order(self._curation, part), eligible)
        self._available += len(found[-1])
        if self._last is not None:
            found = _taking(found, _until(found, self._last))
        self._early.append(found)
        self._held += len(found[-1])
        size = self._curation.size or 0
        if self._held > size + max(size // 4, SPARE_PLACES):
            self._cut_back()

    def cut(self, *, or_none: bool = False) -> pa.Table:
        """Return the CUT; raises TooSmall if fewer samples are eligible than asked for.

        With `or_none` no sample is taken in that case, and `available` and `asked` say why.
        """
        name, asked = self._curation.name, self._curation.size
        if len(self._criteria) > 1:
            raise InputError(
                f"curation {name}: asks for {' in one part and '.join(sorted(self._criteria))} in "
                "another; give aesthetics and duplicates with every part or with none"
            )
        words = "".join(self._criteria) or "no part"
        enough = self._available >= (1 if asked is None else asked)
        if not enough and not or_none:
            raise TooSmall(
                f"curation {name} ({words}): {self._available} eligible samples, and "
                f"{'all' if asked is None else asked} are asked for. Sets are compared at equal "
                "size: ask for fewer samples in each, move the bound, or audit more shards."
            )
        if not enough:
            _log.warning(
                "%s: %d eligible samples, and %s are asked for: none is taken",
                name,
                self._available,
                asked,
            )
        score = last = None
        if enough and asked != 0:
            self._cut_back()
            (every,) = self._early
            *falling, last = _keys(every, len(every[-1]))
            score = 0.0 - falling[0] if falling else None  # no -0: equal cuts have equal bytes
        row = (name, words, asked, self._available, last, score)
        return pa.Table.from_pylist([dict(zip(CUT.names, row, strict=True))], schema=CUT)

    def _cut_back(self) -> None:
        size = self._curation.size
        every: _Order = tuple(np.concatenate(keys) for keys in zip(*self._early, strict=True))
        if size is None:  # all are taken: the last one is enough
            every = tuple(np.array([key]) for key in _keys(every, len(every[-1])))
        elif size == 0:
            every = tuple(keys[:0] for keys in every)
        elif size < len(every[-1]):
            self._last = _keys(every, size)
            every = _taking(every, _until(every, self._last))
        self._early, self._held = [every], len(every[-1])


def curate(
    curation: Curation, part: CuratedPart, cut: pa.Table, held_out: HeldOut = ()
) -> pa.Table:
    """Return the MANIFEST of a part that keeps the samples that the curation takes.

    It has one row for each of the part's `base`, in its order; rows that the base dropped stay
    unchanged. Any other sample that is not kept has the first reason that holds: not spotted, held
    out, the text, the measure and its bounds, not drawn. `cut` is the CUT of all parts, found with
    the same `held_out`.
    """
    (last,) = cut.to_pylist()
    assert last["name"] == curation.name, f"{curation.name} with the cut of {last['name']}"
    verdicts = refusals(curation, part)
    verdicts[1:1] = [(_taken(*each, part), HELD_OUT) for each in held_out]
    verdicts.append((~_drawn(curation, part, cut), NOT_DRAWN))
    reasons = np.full(len(part.base), None, dtype=object)
    for refused, reason in reversed(verdicts):  # the first that holds stays
        reasons[refused] = reason
    leaving = part.base.select(["shard", "row"])
    leaving = leaving.append_column("reason", pa.array(reasons, pa.string()))
    leaving = leaving.filter(pc.is_valid(leaving["reason"]))
    return prune_manifest(part.base, leaving, embedded=part.base)


def passing(curation: Curation, part: CuratedPart, held_out: HeldOut = ()) -> pa.Table:
    """Return shard and row of the samples that the curation may take, in the order of `base`.

    If the part has no `duplicates`, these are the samples that a debiased curation searches for
    duplicates.
    """
    eligible = _eligible(curation, part, held_out)
    return part.base.select(["shard", "row"]).filter(pa.array(eligible))


# --- the order of samples -------------------------------------------------------------------------


def _eligible(curation: Curation, part: CuratedPart, held_out: HeldOut) -> Bool[np.ndarray, " n"]:
    eligible: np.ndarray = part.base["kept"].to_numpy() & _meets(curation, part)
    for each in held_out:
        eligible &= ~_taken(*each, part)
    return eligible


def _taken(curation: Curation, cut: pa.Table, part: CuratedPart) -> Bool[np.ndarray, " n"]:
    """Return the samples that a held-out set takes, or would take if its base kept them."""
    taken: np.ndarray = _drawn(curation, part, cut) & _meets(curation, part)
    return taken


def _meets(curation: Curation, part: CuratedPart) -> Bool[np.ndarray, " n"]:
    meets: np.ndarray = ~np.logical_or.reduce([mask for mask, _ in refusals(curation, part)])
    return meets


def _drawn(curation: Curation, part: CuratedPart, cut: pa.Table) -> Bool[np.ndarray, " n"]:
    last, score = (cut[name][0].as_py() for name in ("last", "score"))
    if last is None:
        return np.zeros(len(part.base), dtype=bool)
    place = np.uint64(last)
    return _until(_order(curation, part), (place,) if score is None else (-score, place))


def _order(curation: Curation, part: CuratedPart) -> _Order:
    """Return what orders the samples: their places alone, or scores, the highest first."""
    shard, row = (part.base[name].to_numpy() for name in ("shard", "row"))
    drawn = places(shard, row, seed=curation.seed)
    return (-top_scores(curation, part), drawn) if curation.kind in TOP else (drawn,)


def _taking(order: _Order, rows: Bool[np.ndarray, " n"]) -> _Order:
    return tuple(keys[rows] for keys in order)


def _keys(order: _Order, nth: int) -> tuple[Any, ...]:
    """Return the keys of the nth sample in the order, counted from 1.

    >>> _keys((np.array([0.5, 0.25, 0.5, 0.5]), np.array([3, 9, 1, 2])), 3)
    (np.float64(0.5), np.int64(2))
    """
    found = []
    for at in range(len(order)):
        keys = order[at]
        end = np.partition(keys, nth - 1)[nth - 1]
        nth -= int(np.count_nonzero(keys < end))
        order = _taking(order, keys == end)
        found.append(end)
    return tuple(found)


def _until(order: _Order, last: tuple[Any, ...]) -> Bool[np.ndarray, " n"]:
    """Return which samples come no later than one with these keys; none whose score is NaN."""
    before = np.zeros(len(order[-1]), dtype=bool)
    tied = ~before
    for keys, end in zip(order, last, strict=True):
        before |= tied & (keys < end)
        tied &= keys == end
    until: np.ndarray = before | tied
    return until
