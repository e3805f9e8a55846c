"""Random pruning: the control of a pruned set, as many samples drawn at random.

Every sample has a place in one seeded order that depends on nothing but the seed and its address:
adding shards changes no sample's place, and of two cuts the smaller set lies in the larger. Which
samples are kept is said by a *cut*: a place is kept iff it is below.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int32, UInt64

from clipaudit.corpora.manifests import MANIFEST
from clipaudit.similarity.gap import NOT_EMBEDDED

DRAWN = "drawn at random"
BUCKET_BITS = 20  # of the first pass of `find_cut`: 8 MB of counters

CUT = pa.schema(
    [
        pa.field("cut", pa.uint64(), nullable=False),  # the first place that is not kept
        pa.field("kept", pa.int64(), nullable=False),  # how many places are
    ]
)


def places(
    shard: Int32[np.ndarray, " n"], row: Int32[np.ndarray, " n"], *, seed: int
) -> UInt64[np.ndarray, " n"]:
    """Return each sample's place in the random order of `seed`; no two samples share one.

    SplitMix64's finaliser, a bijection of 64-bit numbers, over the address and the seed.

    >>> places(np.zeros(2, np.int32), np.arange(2, dtype=np.int32), seed=0).tolist()
    [16294208416658607535, 10451216379200822465]
    """
    address = (shard.astype(np.uint64) << np.uint64(32)) | row.astype(np.uint64)
    with np.errstate(over="ignore"):  # arithmetic modulo 2^64 is what is meant
        mixed = address + np.uint64(0x9E3779B97F4A7C15) * np.uint64(seed + 1)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def find_cut(blocks: Callable[[], Iterable[UInt64[np.ndarray, " n"]]], kept: int) -> int:
    """Return the cut below which exactly `kept` of all places lie.

    `blocks()` is gone through twice, a block at a time: the first pass counts places by their
    leading bits, the second sorts those of the one bucket in which the cut lies. `kept` must be
    below the number of places, which are below 2^64; with all kept the cut is past the last.
    """
    shift = np.uint64(64 - BUCKET_BITS)
    counts = np.zeros(1 << BUCKET_BITS, dtype=np.int64)
    for block in blocks():
        counts += np.bincount((block >> shift).astype(np.int64), minlength=len(counts))
    before = np.concatenate([[0], np.cumsum(counts)])
    assert kept <= before[-1], f"{kept} of {before[-1]} samples cannot be kept"
    bucket = int(np.searchsorted(before, kept, side="right")) - 1
    if bucket == len(counts):  # all are kept
        return (1 << 64) - 1
    inside = [block[(block >> shift) == bucket] for block in blocks()]
    return int(np.sort(np.concatenate(inside))[kept - before[bucket]])


def cut_like(manifests: Callable[[], Iterable[pa.Table]], *, seed: int) -> pa.Table:
    """Return the CUT that keeps as many samples at random as the given manifest's parts keep."""
    kept = sum(pc.sum(part["kept"]).as_py() or 0 for part in manifests())
    cut = find_cut(lambda: (_eligible_places(part, seed) for part in manifests()), kept)
    return pa.table([[cut], [kept]], schema=CUT)


def prune_randomly(manifest: pa.Table, cut: pa.Table, *, seed: int) -> pa.Table:
    """Return the MANIFEST of a part that keeps the samples below the cut.

    `manifest` is the same part of the manifest whose size is matched: what could not be embedded
    left that one for another reason, and leaves this one too.
    """
    below = places(*_addresses(manifest), seed=seed) < np.uint64(cut["cut"][0].as_py())
    eligible = _eligible(manifest)
    reason = pc.if_else(pc.invert(eligible), NOT_EMBEDDED, pc.if_else(below, None, DRAWN))
    columns = {
        "shard": manifest["shard"],
        "row": manifest["row"],
        "kept": pc.is_null(reason),
        "reason": reason,
    }
    empty = {field.name: pa.nulls(len(manifest), field.type) for field in MANIFEST}
    return pa.table({**empty, **columns}).select(MANIFEST.names).cast(MANIFEST)


def _eligible(manifest: pa.Table) -> pa.ChunkedArray:
    return pc.fill_null(pc.not_equal(manifest["reason"], NOT_EMBEDDED), True)


def _eligible_places(manifest: pa.Table, seed: int) -> UInt64[np.ndarray, " n"]:
    return places(*_addresses(manifest.filter(_eligible(manifest))), seed=seed)


def _addresses(
    manifest: pa.Table,
) -> tuple[Int32[np.ndarray, " n"], Int32[np.ndarray, " n"]]:
    return manifest["shard"].to_numpy(), manifest["row"].to_numpy()
