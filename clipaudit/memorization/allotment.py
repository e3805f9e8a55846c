"""Allot the samples of a pool to the sets A, B, public and hold-out, by their lots.

Jayaraman et al., 2024 (App. C): https://arxiv.org/abs/2402.02103. There, sets are disjoint random
draws from the deduplicated samples, one image per caption; the code is not published. Here each set
owns an interval of lots, and a set given as a count takes the lowest of these. So a sample never
changes its set when shards are added; new groups with lower lots can only displace it.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Int64

from clipaudit.corpora.addresses import sample_addresses, shards_and_rows
from clipaudit.errors import ConfigError, TooSmall

SETS = ("a", "b", "public", "holdout")
HELD_ROWS = 1 << 22  # members, 24 bytes each, held until the highest are dropped: only memory

# One row for each member of a set, repeats included, by (shard, row).
ALLOTMENT = pa.schema(
    [
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("set", pa.string(), nullable=False),  # one of SETS
        pa.field("place", pa.int64(), nullable=False),  # rank of its group in the set, by lot
        pa.field("high", pa.uint64(), nullable=False),  # its group's lot, see LOTS
        pa.field("low", pa.uint64(), nullable=False),
        # the lowest address of its group, which represents the group; null: its own
        pa.field("duplicate_shard", pa.int32()),
        pa.field("duplicate_row", pa.int32()),
    ]
)

Size = int | float
_LOTS = 1 << 128  # all lots are below it
_MEMBER = np.dtype([("high", np.uint64), ("low", np.uint64), ("address", np.int64)])


def allot(
    lots: Iterable[pa.Table],
    sizes: Mapping[str, Size],
    *,
    place: str,
    held_rows: int = HELD_ROWS,
) -> pa.Table:
    """Return the ALLOTMENT of a pool to the sets that `sizes` names, given the pool's LOTS.

    The sets own consecutive intervals of lots, in the order of SETS. If sizes are fractions, a set
    owns that share of all lots and has every group in it. If they are counts of groups, the sets
    own all lots, in proportion, and each has the groups of its lowest lots. Results do not depend
    on the order of the mapping, the tables or their rows, nor on `held_rows`.

    Memory grows with the sets and one table. Raises ConfigError for invalid sizes, and TooSmall,
    which names the `place`, for an interval with fewer groups than are asked for, or without any.
    """
    intervals = _intervals(sizes)
    drawn = {name: _Lowest(sizes[name], held_rows) for name in intervals}
    for table in lots:
        members = _members(table)
        for name, (lower, upper) in intervals.items():
            inside = _below(members, upper) & ~_below(members, lower)
            drawn[name].add(members[inside])
    columns = [_columns(name, *drawn[name].ranked(place, name)) for name in intervals]
    joined = pa.concat_tables(columns)
    return joined.take(np.argsort(sample_addresses(joined)))


def within_size(
    allotted: pa.Table, *, set: str, size: Size, sizes: Mapping[str, Size]
) -> Bool[np.ndarray, " n"]:
    """Return the rows of an ALLOTMENT that are in `set` at a smaller `size`.

    `sizes` are those of the allotment. The smaller set holds the set's lowest lots: `size` groups,
    or those in that share of all lots. So sets of several sizes are nested. Raises ConfigError
    for an invalid size, or one larger than the set's.
    """
    _check_sizes(sizes)
    _check_sizes({set: size})
    if isinstance(size, int) != isinstance(sizes[set], int) or size > sizes[set]:
        raise ConfigError(
            f"set {set}: a smaller size of {size}, but the set's own is {sizes[set]}; give both as "
            "counts or both as fractions, with none above the set's own"
        )
    own: np.ndarray = pc.equal(allotted["set"], set).to_numpy().copy()
    if isinstance(size, int):
        places: np.ndarray = allotted["place"].to_numpy()
        own &= places < size
        return own
    _, upper = _intervals({**sizes, set: size})[set]
    own &= _below(_members(allotted), upper)
    return own


class _Lowest:
    """The members of an interval's lowest groups, or of all for a fraction, from a stream."""

    def __init__(self, size: Size, held_rows: int) -> None:
        self._groups = size if isinstance(size, int) else None
        self._held_rows = held_rows
        self._parts = [np.empty(0, dtype=_MEMBER)]
        self._rows = 0
        self._border = _LOTS  # members at or above it are not needed

    def add(self, members: np.ndarray) -> None:
        """Add members of the interval; drop those that cannot be among the lowest."""
        if self._border < _LOTS:
            members = members[_below(members, self._border)]
        self._parts.append(members)
        self._rows += len(members)
        if self._groups is not None and self._rows > self._held_rows:
            self._drop_highest(self._groups)

    def ranked(self, place: str, name: str) -> tuple[np.ndarray, Int64[np.ndarray, " n"]]:
        """Return the members by lot, then by address, and the rank of each one's group."""
        members, ranks = self._sorted()
        groups = int(ranks[-1]) + 1 if len(ranks) else 0
        needed = self._groups or 1
        if groups < needed:
            raise TooSmall(
                f"{place}: set {name} needs {needed} groups of samples and {groups} fall into its "
                "share of the pool. Ask for smaller sets, or add shards."
            )
        drawn = ranks < (self._groups or groups)
        return members[drawn], ranks[drawn]

    def _drop_highest(self, groups: int) -> None:
        members, ranks = self._sorted()
        members = members[ranks < groups]
        self._parts, self._rows = [members], len(members)
        # twice the kept rows, so that the cost of sorting stays proportional to the input
        self._held_rows = max(self._held_rows, 2 * self._rows)
        if len(ranks) and ranks[-1] + 1 >= groups:
            last = members[-1]
            self._border = (int(last["high"]) << 64 | int(last["low"])) + 1

    def _sorted(self) -> tuple[np.ndarray, Int64[np.ndarray, " n"]]:
        members = np.concatenate(self._parts)
        members = members[np.lexsort((members["address"], members["low"], members["high"]))]
        return members, np.cumsum(_starts(members), dtype=np.int64) - 1


def _members(table: pa.Table) -> np.ndarray:
    """Return the lots and addresses of LOTS or ALLOTMENT as one array of records."""
    found = np.empty(len(table), dtype=_MEMBER)
    found["address"] = sample_addresses(table)
    for half in ("high", "low"):
        found[half] = table[half].to_numpy()
    return found


def _starts(members: np.ndarray) -> Bool[np.ndarray, " n"]:
    """Return which members, sorted by lot, are the first of their group."""
    starts = np.ones(len(members), dtype=bool)
    high, low = members["high"], members["low"]
    starts[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return starts


def _below(members: np.ndarray, border: int) -> Bool[np.ndarray, " n"]:
    """Return which members have a lot below a border from 0 to 2^128."""
    if border == _LOTS:
        return np.ones(len(members), dtype=bool)
    high, low = np.uint64(border >> 64), np.uint64(border & (1 << 64) - 1)
    below: np.ndarray = members["high"] < high
    ties = members["high"] == high
    below |= ties & (members["low"] < low)
    return below


def _columns(name: str, members: np.ndarray, ranks: Int64[np.ndarray, " n"]) -> pa.Table:
    """Return a set's rows of ALLOTMENT, by lot."""
    starts = _starts(members)
    first = members["address"][starts][ranks]  # of each member's group
    shard, row = shards_and_rows(members["address"])
    duplicate_shard, duplicate_row = shards_and_rows(first)
    columns = {
        "shard": shard,
        "row": row,
        "set": pa.repeat(name, len(members)),
        "place": ranks,
        "high": np.ascontiguousarray(members["high"]),
        "low": np.ascontiguousarray(members["low"]),
        "duplicate_shard": pa.array(duplicate_shard, mask=starts),
        "duplicate_row": pa.array(duplicate_row, mask=starts),
    }
    return pa.table(columns, schema=ALLOTMENT)


# --- sizes ---------------------------------------------------------------------------------------


def _intervals(sizes: Mapping[str, Size]) -> dict[str, tuple[int, int]]:
    """Return each set's interval of lots, its lower border and the first above, in set order."""
    _check_sizes(sizes)
    names = [name for name in SETS if name in sizes]
    whole = sum(map(_exact, sizes.values())) if isinstance(sizes[names[0]], int) else 1
    ends = accumulate((_exact(sizes[name]) for name in names), initial=Fraction(0))
    borders = [int(end / whole * _LOTS) for end in ends]
    return dict(zip(names, pairwise(borders), strict=True))


def _exact(size: Size) -> Fraction:
    """Return the number as it is written, so that 0.1, 0.2 and 0.7 make 1."""
    return Fraction(str(size))


def _check_sizes(sizes: Mapping[str, Size]) -> None:
    given = ", ".join(f"{name}: {size}" for name, size in sizes.items())
    hint = "Give counts of 1 or more, or fractions above 0 that sum to at most 1."
    if not sizes or not set(sizes) <= set(SETS):
        raise ConfigError(f"sizes {{{given}}}: name one or more of the sets {', '.join(SETS)}")
    if len({isinstance(size, int) for size in sizes.values()}) > 1:
        raise ConfigError(f"sizes {{{given}}} mix counts and fractions. {hint}")
    counts = isinstance(next(iter(sizes.values())), int)
    wrong = [name for name, size in sizes.items() if not (size >= 1 if counts else 0 < size <= 1)]
    if wrong:
        raise ConfigError(f"sizes {{{given}}}: {sizes[wrong[0]]} of {wrong[0]} is invalid. {hint}")
    if not counts and sum(map(_exact, sizes.values())) > 1:
        raise ConfigError(f"sizes {{{given}}} sum to more than 1. {hint}")
