"""Finds cuts: the sample in an order at which a pruning of a given size ends.

The order of all samples (`clipaudit.similarity.orders`) is cut once; each part is then pruned with
its own samples only. Finding a cut takes a few passes over the parts and some tens of megabytes,
however many samples there are and however many of them tie. A pass counts samples by the next bits
of their key, then of their address, until few enough are left to sort.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Int64, UInt64

from clipaudit.corpora.addresses import sample_address, shard_row
from clipaudit.corpora.manifests import prune_manifest
from clipaudit.errors import TooSmall
from clipaudit.similarity.orders import REPEATS_NONE, Order, Ordered, order_samples

logger = logging.getLogger(__name__)

BUCKET_ROWS = 1 << 22  # this many samples are sorted at once, in 64 MB; more are counted again

# One row: the last sample before the cut in its order, null if none is before it. (Samples before
# the cut are removed; in an order that removes the last, they are kept.)
CUT = pa.schema(
    [
        pa.field("key", pa.uint64()),  # the order is by rising key, then by rising (shard, row)
        pa.field("shard", pa.int32()),
        pa.field("row", pa.int32()),
        pa.field("eligible", pa.int64(), nullable=False),  # kept by the base and embedded
        pa.field("kept", pa.int64(), nullable=False),  # of these
    ]
)

Blocks = Callable[[], Iterable[Ordered]]


def find_cut(
    name: str,
    order: Order,
    parts: Callable[[], Iterable[tuple[pa.Table, pa.Table]]],
    *,
    removed: int | float | None = None,
    kept: int | float | None = None,
    like: int | None = None,
    bucket_rows: int = BUCKET_ROWS,
) -> pa.Table:
    """Return the CUT of the pruning `name`.

    `parts()` yields the tables `base` and `embedded` of each part, as `order_samples` takes them.
    It is called once per pass, mostly twice, and read one part at a time. The split of samples into
    parts and `bucket_rows` do not affect the result.

    The size is `removed` or `kept`, a count (int) or a fraction (float). A fraction gives a number
    of removed samples, rounded half to even: `removed` is a fraction of the eligible samples,
    `kept` of `like` samples (of the eligible ones without `like`). `like` alone keeps that many.
    Raises TooSmall for a size that keeps none, or removes or keeps more than there are.
    """

    def blocks() -> Iterator[Ordered]:
        return (order_samples(order, *part) for part in parts())

    counts = _count(blocks, _EVERY, _DIGITS[0])
    eligible = int(counts.sum())
    stay = _staying(name, eligible, removed, kept, like)
    before = stay if order.removes_last else eligible - stay
    key, address = None, None
    if before:
        key, address = _sample_at(before - 1, blocks, _EVERY, _DIGITS, counts, bucket_rows)
    if order.kind == "semdedup" and key == REPEATS_NONE:
        _refuse_unrepeated(name, blocks, eligible, stay)
    place = (None, None) if address is None else shard_row(address)
    row = dict(zip(CUT.names, (key, *place, eligible, stay), strict=True))
    return pa.Table.from_pylist([row], schema=CUT)


def prune_at_cut(order: Order, base: pa.Table, embedded: pa.Table, cut: pa.Table) -> pa.Table:
    """Return the MANIFEST of a part without the samples that the CUT removes from its order.

    It has one row for each of the MANIFEST `base`, in its order; rows that the base dropped are
    unchanged. `base` and `embedded` are the part's as `order_samples` takes them. A removed sample
    names the test sample that it is near or far to, or the sample that it repeats, with the
    similarity; a sample that was not embedded is removed as such.
    """
    (last,) = cut.to_pylist()
    samples = order_samples(order, base, embedded)
    before = np.zeros(len(samples.keys), dtype=bool)
    if last["key"] is not None:
        key, address = last["key"], sample_address(last["shard"], last["row"])
        ties = (samples.keys == key) & (samples.addresses <= address)
        before = (samples.keys < key) | ties
    leaves = ~before if order.removes_last else before
    leaving = embedded.select(["shard", "row", *order.witness]).take(samples.source[leaves])
    leaving = leaving.append_column("reason", pa.repeat(order.reason, len(leaving)))
    return prune_manifest(base, leaving, embedded=embedded)


# --- sizes ---------------------------------------------------------------------------------------


def _staying(
    name: str,
    eligible: int,
    removed: int | float | None,
    kept: int | float | None,
    like: int | None,
) -> int:
    """Return how many samples are kept; see `find_cut`."""
    assert (removed is None) != (kept is None and like is None), f"{name}: give one size"
    if eligible == 0:
        raise TooSmall(
            f"{name}: 0 eligible samples: the base keeps no embedded sample, so there is nothing "
            "to prune; look into the drops of the corpus, and into its base's manifest"
        )
    if removed is not None:
        stay = eligible - _count_of(removed, eligible)
        size = f"removed is {removed}, {eligible - stay} samples"
    else:
        whole = eligible if like is None else like
        stay = whole if kept is None else whole - _count_of(_complement(kept, whole), whole)
        size = f"kept is {stay} samples" if kept is None else f"kept is {kept}, {stay} samples"
    if not 0 < stay <= eligible:
        raise TooSmall(
            f"{name}: {size}, and {eligible} are eligible (kept by the base, and embedded), of "
            f"which 1 to {eligible} must be kept; choose another size"
        )
    return stay


def _complement(kept: int | float, whole: int) -> int | float:
    """Return the removed size that equals a kept size, so that both name the same set."""
    return whole - kept if isinstance(kept, int) else 1 - kept


def _count_of(size: int | float, whole: int) -> int:
    return size if isinstance(size, int) else round(size * whole)


def _refuse_unrepeated(name: str, blocks: Blocks, eligible: int, stay: int) -> None:
    single = sum(int((block.keys == REPEATS_NONE).sum()) for block in blocks())
    raise TooSmall(
        f"{name}: {eligible - stay} of {eligible} eligible samples must be removed as duplicates, "
        f"but only {eligible - single} repeat another of their cluster; keep {single} or more, or "
        "deduplicate with fewer clusters"
    )


# --- the sample at a place -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Digit:
    """Some bits of a sample's key (word 0) or address (word 1)."""

    word: int
    shift: int
    width: int


@dataclass(frozen=True)
class _Bucket:
    """The samples whose key and address, two words, agree with `bits` where `mask` is set."""

    mask: tuple[int, int] = (0, 0)
    bits: tuple[int, int] = (0, 0)

    def words(self, block: Ordered) -> list[UInt64[np.ndarray, " n"]]:
        """Return the keys and the addresses of its samples in the block."""
        both = (block.keys, block.addresses)
        tests = [(both[i] & self.mask[i]) == self.bits[i] for i in (0, 1) if self.mask[i]]
        inside = np.logical_and.reduce(tests) if tests else slice(None)
        return [word[inside] for word in both]

    def narrowed(self, digit: _Digit, value: int) -> "_Bucket":
        """Return the bucket of those samples that also have this value of the digit."""
        mask, bits = list(self.mask), list(self.bits)
        mask[digit.word] |= ((1 << digit.width) - 1) << digit.shift
        bits[digit.word] |= value << digit.shift
        return _Bucket((mask[0], mask[1]), (bits[0], bits[1]))


_EVERY = _Bucket()
_DIGITS = tuple(
    _Digit(word, shift, width)  # 2^20 counters are 8 MB
    for word in (0, 1)
    for shift, width in ((44, 20), (24, 20), (4, 20), (0, 4))
)


def _count(blocks: Blocks, bucket: _Bucket, digit: _Digit) -> Int64[np.ndarray, " values"]:
    """Return how many samples of the bucket have each value of the digit."""
    counts = np.zeros(1 << digit.width, dtype=np.int64)
    for block in blocks():
        word = bucket.words(block)[digit.word] >> digit.shift
        np.add.at(counts, (word & ((1 << digit.width) - 1)).astype(np.int64), 1)
    logger.info("counted %d samples by bits %d of word %d", counts.sum(), digit.shift, digit.word)
    return counts


def _sample_at(
    place: int,
    blocks: Blocks,
    bucket: _Bucket,
    digits: Sequence[_Digit],
    counts: Int64[np.ndarray, " values"],
    bucket_rows: int,
) -> tuple[int, int]:
    """Return the key and address of the sample at `place`, from 0, of the bucket.

    `counts` are the bucket's, by the first of the digits; the bucket's samples share the digits
    before it.
    """
    ends = np.cumsum(counts)
    value = int(np.searchsorted(ends, place, side="right"))
    place -= int(ends[value] - counts[value])
    bucket, rest = bucket.narrowed(digits[0], value), digits[1:]
    if rest and counts[value] > bucket_rows:
        return _sample_at(place, blocks, bucket, rest, _count(blocks, bucket, rest[0]), bucket_rows)
    words = [bucket.words(block) for block in blocks()]
    keys, addresses = (np.concatenate(column) for column in zip(*words, strict=True))
    at = np.lexsort((addresses, keys))[place]
    return int(keys[at]), int(addresses[at])
