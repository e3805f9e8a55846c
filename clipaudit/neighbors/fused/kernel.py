"""The Triton kernel of the fused search: scores are compared where they are made, few are written.

Each program multiplies tiles of (train rows x queries), one after the other. What it knows of a row
is `seen`, the highest score that any program has raised it to, and of a query a floor that stands
throughout the launch. A score leaves the chip if it reaches its query's floor, or its row's seen
score less a margin.

The order in which programs run cannot lose a pair. `seen` only rises, and never above the highest
score of the row; so whatever was read of it, however old, is a threshold that the pairs that can
still win reach: those within the margin of the highest. A program that reads an old value keeps
more pairs, which lose later. Every pair is in one tile, so none is kept twice. A tile asks once for
its places in the list, by one atomic addition; in which order the list then is, nothing may depend
on. Places beyond the end of the list are counted, not written.
"""

from typing import no_type_check

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n", "q", "capacity"])  # compiled once, not for each number
@no_type_check
def screen(
    rows: tl.tensor,
    queries: tl.tensor,
    floors: tl.tensor,
    gaps: tl.tensor,
    seen: tl.tensor,
    found: tl.tensor,
    count: tl.tensor,
    n: int,
    q: int,
    capacity: int,
    margin: float,
    DIMENSION: tl.constexpr,
    GAPS: tl.constexpr,
    ROWS: tl.constexpr,
    QUERIES: tl.constexpr,
    STEP: tl.constexpr,
) -> None:
    """Append to `found` the pairs of n rows and q queries that can matter.

    `rows` and `queries` are float16 of DIMENSION columns, a multiple of STEP; `floors` and `gaps`
    float32, a number a query, gaps only if GAPS. `seen` are int32 codes of two numbers a row, first
    of all rows the score, then of all rows the excess over a gap; the caller starts them with -inf.
    `found` has int32 rows, queries and bits of float32 scores, `capacity` of each, and `count`
    (int64, from 0) says how many there are: beyond `capacity`, some are missing. ROWS x QUERIES is
    a tile.
    """
    row_tiles = tl.cdiv(n, ROWS)
    query_tiles = tl.cdiv(q, QUERIES)
    along = tl.arange(0, STEP)
    for tile in range(tl.program_id(0), row_tiles * query_tiles, tl.num_programs(0)):
        row_tile, query_tile = _position(tile, row_tiles, query_tiles)
        row = row_tile * ROWS + tl.arange(0, ROWS)
        query = query_tile * QUERIES + tl.arange(0, QUERIES)
        real_row, real_query = row < n, query < q  # the others stand for copies of the last
        left = rows + tl.minimum(row, n - 1).to(tl.int64)[:, None] * DIMENSION + along[None, :]
        right = queries + tl.minimum(query, q - 1).to(tl.int64)[None, :] * DIMENSION
        right += along[:, None]
        scores = tl.zeros((ROWS, QUERIES), dtype=tl.float32)
        for step in range(0, DIMENSION, STEP):
            scores = tl.dot(
                tl.load(left + step), tl.load(right + step), scores, input_precision="ieee"
            )
        floor = tl.load(floors + query, mask=real_query, other=float("inf"))
        least = _raised(seen + row, real_row, tl.max(scores, axis=1)) - margin
        if GAPS:
            gap = tl.load(gaps + query, mask=real_query, other=float("inf"))
            beyond = _raised(seen + n + row, real_row, tl.max(scores - gap[None, :], axis=1))
            beyond = tl.maximum(beyond - margin, -margin / 2)
        needed = tl.minimum(least[:, None], floor[None, :])  # as late as can be: it fills registers
        if GAPS:
            needed = tl.minimum(needed, beyond[:, None] + gap[None, :])
        kept = (scores >= needed) & real_row[:, None] & real_query[None, :]
        kept = tl.where(kept, scores, float("-inf"))
        _append(found, count, capacity, row, query_tile * QUERIES, kept)


@triton.jit
@no_type_check
def _position(tile: int, row_tiles: int, query_tiles: int) -> tuple[int, int]:
    """Return which tile of the rows and of the queries it is.

    Programs that run side by side take the rows of a group before the next queries: what they
    read stays in the cache, and a row has been raised before most of its queries come.
    """
    GROUP: tl.constexpr = 64
    first = tile // (GROUP * query_tiles) * GROUP
    size = tl.minimum(row_tiles - first, GROUP)
    inside = tile % (GROUP * query_tiles)
    return first + inside % size, inside // size


@triton.jit
@no_type_check
def _raised(seen: tl.tensor, real: tl.tensor, top: tl.tensor) -> tl.tensor:
    """Raise what has been seen of the real rows to `top`; return the higher of both."""
    codes = tl.load(seen, mask=real, other=0, cache_modifier=".cg")  # .cg: not from an old copy
    before = _ordered(codes).to(tl.float32, bitcast=True)
    codes = _ordered(top.to(tl.int32, bitcast=True))
    tl.atomic_max(seen, codes, mask=real & (top > before), sem="relaxed")
    return tl.maximum(before, top)


@triton.jit
@no_type_check
def _ordered(bits: tl.tensor) -> tl.tensor:
    """Turn the bits of floats into integers of the same order, or back."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)


@triton.jit
@no_type_check
def _append(
    found: tl.tensor,
    count: tl.tensor,
    capacity: int,
    row: tl.tensor,
    first_query: int,
    kept: tl.tensor,
) -> None:
    """Append the pairs above -inf, at each turn the highest of every row that has one left.

    To number all pairs of a tile at once would take more registers than there are. There is no
    branch around this: with one, the compiler makes the products wait for each other.
    """
    left = tl.sum(tl.sum((kept > float("-inf")).to(tl.int32), axis=1), axis=0)
    place = tl.atomic_add(count, left.to(tl.int64), mask=left > 0, sem="relaxed")
    left = tl.where(place + left <= capacity, left, 0)
    while left > 0:
        highest, column = tl.max(kept, axis=1, return_indices=True)
        some = highest > float("-inf")
        turn = some.to(tl.int32)
        at = found + place + tl.cumsum(turn, axis=0) - 1
        tl.store(at, row, mask=some)
        tl.store(at + capacity, first_query + column, mask=some)
        tl.store(at + capacity + capacity, highest.to(tl.int32, bitcast=True), mask=some)
        taken = tl.arange(0, kept.shape[1])[None, :] == column[:, None]
        kept = tl.where(taken, float("-inf"), kept)
        place += tl.sum(turn, axis=0)
        left -= tl.sum(turn, axis=0)
