"""Orders samples for removal: nearest first, farthest first, random, most duplicated first.

Near- and far-pruning: Mayilvahanan et al., ICLR 2024, Sec. 4.2; the core set ('all-far-pruned')
and the SemDeDup row of Table 3: App. B.4: https://arxiv.org/abs/2310.09562. Samples are sorted by
falling score; near removes from the front, far from the back, as in the published notebook
get_paths.ipynb. The score is the similarity to the nearest sample of a test set. No code is
published for two choices, so they are ours: ties are sorted by rising (shard, row), and the score
for several test sets is the highest of theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float64, Int64, UInt64

from clipaudit.corpora.addresses import sample_addresses
from clipaudit.corpora.places import places
from clipaudit.deduplication.deduplication import DUPLICATE
from clipaudit.errors import InputError

NEAR = "too near"
FAR = "too far"
DRAWN = "drawn at random"


@dataclass(frozen=True)
class Order:
    """Which samples are removed first.

    `near`: the most similar to `test_sets`; `far`: the least similar; `rand`: by the places of
    `seed`, the last first; `semdedup`: the most similar to what they repeat.
    """

    kind: Literal["near", "far", "rand", "semdedup"]
    test_sets: Sequence[str] = ()
    seed: int = 0

    @property
    def removes_last(self) -> bool:
        """Return whether samples are removed from the back: far is near's order, reversed."""
        return self.kind == "far"

    @property
    def reason(self) -> str:
        """Return why a sample is removed, as the manifest says it."""
        return {"near": NEAR, "far": FAR, "rand": DRAWN, "semdedup": DUPLICATE}[self.kind]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the table that decides the order."""
        similar = ("testset", "similarity")
        read = {"near": similar, "far": similar, "rand": (), "semdedup": ("similarity",)}
        return ("shard", "row", *read[self.kind])

    @property
    def witness(self) -> tuple[str, ...]:
        """Return the columns that say why, with the same names in the manifest and the table."""
        if self.kind == "rand":
            return ()
        if self.kind == "semdedup":
            return ("similarity", "duplicate_shard", "duplicate_row")
        return ("testset", "test_shard", "test_row", "similarity")


@dataclass(frozen=True, eq=False)
class Ordered:
    """Samples of a part and their order: by rising key, then by rising address.

    Addresses, `shard << 32 | row`, are unique; `source` is the row that each key comes from.
    """

    keys: UInt64[np.ndarray, " n"]
    addresses: UInt64[np.ndarray, " n"]
    source: Int64[np.ndarray, " n"]


def order_samples(order: Order, base: pa.Table, embedded: pa.Table) -> Ordered:
    """Return the order of a part's eligible samples: kept by `base`, a MANIFEST, and embedded.

    `embedded` names the embedded samples and decides the order. For near and far it is
    SIMILARITIES. For semdedup it is DUPLICATES, and a null similarity, of a sample that repeats no
    other, comes last. For rand it is any table with the columns shard and row, in which samples may
    repeat. Samples may come in any order; there may be none.
    """
    if order.kind == "rand":
        source, keys = _drawn(embedded, order.seed)
    elif order.kind == "semdedup":
        scores = pc.fill_null(embedded["similarity"], -np.inf).to_numpy()
        source, keys = np.arange(len(scores)), falling(scores)
    else:
        source, keys = _nearest(embedded, order.test_sets)
    addresses = sample_addresses(embedded)[source]
    eligible = np.isin(addresses, sample_addresses(base.filter(base["kept"])))
    return Ordered(keys[eligible], addresses[eligible].view(np.uint64), source[eligible])


def falling(scores: Float64[np.ndarray, " n"]) -> UInt64[np.ndarray, " n"]:
    """Return numbers that rise as scores fall, equal for equal scores; scores must not be NaN.

    >>> keys = falling(np.array([np.inf, 0.5, 0.0, -0.0, -0.5, -np.inf]))
    >>> np.diff(keys.astype(object)).astype(bool).tolist(), bool(np.all(keys[:-1] <= keys[1:]))
    ([True, True, False, True, True], True)
    """
    bits = (scores + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, bits, ~bits & np.uint64((1 << 63) - 1))


# the key of a sample without duplicate in the order `semdedup`: after all others
REPEATS_NONE = int(falling(np.array([-np.inf]))[0])

_Read = tuple[Int64[np.ndarray, " n"], UInt64[np.ndarray, " n"]]  # rows of the table, their keys


def _drawn(embedded: pa.Table, seed: int) -> _Read:
    _, source = np.unique(sample_addresses(embedded), return_index=True)
    shards, rows = (embedded[name].to_numpy()[source] for name in ("shard", "row"))
    return source, ~places(shards, rows, seed=seed)


def _nearest(similarities: pa.Table, test_sets: Sequence[str]) -> _Read:
    """Return each sample's row for the most similar test set, the earliest in a tie."""
    addresses = sample_addresses(similarities)
    number = pc.index_in(similarities["testset"], value_set=pa.array(test_sets, pa.string()))
    number = pc.fill_null(number, -1).to_numpy()
    embedded = np.unique(addresses)
    rows = np.empty((len(test_sets), len(embedded)), dtype=np.int64)
    for index, name in enumerate(test_sets):
        own = np.flatnonzero(number == index)
        own = own[np.argsort(addresses[own], kind="stable")]
        if not np.array_equal(addresses[own], embedded):
            raise InputError(
                f"test set {name}: similarities of {len(own)} samples, but {len(embedded)} were "
                "embedded; compute the similarities again with this test set"
            )
        rows[index] = own
    similarity = similarities["similarity"].to_numpy()[rows]  # (test sets, samples)
    best = similarity.argmax(axis=0)  # the first of equals
    source = rows[best, np.arange(len(embedded))]
    return source, falling(similarities["similarity"].to_numpy()[source])
