"""Searches a matrix of screening similarities in both directions, with few passes over it.

Reading the scores costs a good part of multiplying them, so a tile is read once per direction: each
pass takes the maxima of small folds (`peaks`), and only folds whose peak reaches a threshold are
searched. Scores are compared as integers, whose maxima are several times faster than those of
half-precision floats.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Float64, Int, Int64, Shaped
from torch import Tensor

from clipaudit.neighbors.screening import PRECISIONS, flip_negatives, values

LANES = 64  # neighbouring queries whose row maxima are kept apart: one cache line or two
ROW_MULTIPLE = 128
_STRIP_ROWS = 2_048  # with 1,024 queries in float16, the strip's 4 MB stay near the core
_CHUNKS = (128, 64, 32, 16, 8)  # rows folded into one column peak; each divides ROW_MULTIPLE


class Crowded(Exception):
    """So many pairs pass the screen that computing the whole tile exactly is cheaper."""


@dataclass(frozen=True)
class Found:
    """Pairs that reached a threshold, and their screened values."""

    rows: Int64[Tensor, " m"]
    columns: Int64[Tensor, " m"]
    values: Float64[Tensor, " m"]


def rows_per_chunk(rows: int, k: int) -> int:
    """Return how many of a tile's rows share a column peak: many, but 4 k chunks or more.

    The k-th highest of the peaks is then close to the k-th highest similarity.
    """
    return next((size for size in _CHUNKS if rows // size >= 4 * k), _CHUNKS[-1])


class Tile:
    """Screening scores of b rows (n of them real) and v columns (w of them real), as integers.

    The others are copies of the last real row and column. While `raw`, the integers are the scores'
    bits, which are ordered only among the non-negative ones, above all negative ones: enough for
    thresholds of 0 and more. `order` orders them throughout.
    """

    def __init__(self, scores: Float[Tensor, "b v"], shape: tuple[int, int], k: int) -> None:
        """Allocate the scores, for the real shape (n, w); `fill` computes them."""
        self.n, self.w = shape
        self.raw = True
        self._scores = scores
        self._precision = next(p for p in PRECISIONS.values() if p.floating is scores.dtype)
        self._codes = scores.view(self._precision.integer)
        self._by_lane = _by_lane(self._codes)
        self._chunk = rows_per_chunk(len(scores), k)
        self._by_chunk = self._codes.unflatten(0, (-1, self._chunk))  # type: ignore[no-untyped-call]
        self._lane_peaks = self._codes.new_empty(len(scores), LANES)
        self._chunk_peaks = self._codes.new_empty(len(scores) // self._chunk, scores.shape[1])

    def fill(self, rows: Float[Tensor, "b d"], queries: Float[Tensor, "v d"]) -> None:
        """Multiply, and take the peaks while the products are in the cache."""
        for strip in self._strips():
            torch.mm(rows[strip], queries.T, out=self._scores[strip])
            self._peak(strip)

    def order(self) -> None:
        """Order the integers like the scores, including negative ones."""
        for strip in self._strips():
            flip_negatives(self._codes[strip])
            self._peak(strip)
        self.raw = False

    def _strips(self) -> Iterator[slice]:
        rows = _STRIP_ROWS if self._codes.device.type == "cpu" else len(self._codes)
        yield from (slice(start, start + rows) for start in range(0, len(self._codes), rows))

    def _peak(self, strip: slice) -> None:
        chunks = slice(strip.start // self._chunk, strip.stop // self._chunk)
        torch.amax(self._by_lane[strip], 1, out=self._lane_peaks[strip])
        torch.amax(self._by_chunk[chunks], 1, out=self._chunk_peaks[chunks])

    def highest(self) -> Int[Tensor, " n"]:
        """Return each row's highest code."""
        return self._lane_peaks[: self.n].amax(1)

    def kth_highest(self, k: int) -> Int[Tensor, " w"] | None:
        """Return a code per column that k or more of its rows reach; None if there are too few."""
        peaks = self._real_chunks()
        if len(peaks) < k:
            return None
        return peaks.T.contiguous().topk(k, sorted=False).values.amin(1)

    def chunks_reaching(self, columns: Int[Tensor, " w"]) -> int:
        """Return how many column peaks reach the columns' codes: about how many candidates."""
        return int((self._real_chunks() >= columns).sum())

    def _real_chunks(self) -> Int[Tensor, "chunks w"]:
        return self._chunk_peaks[: -(-self.n // self._chunk), : self.w]

    def values(self, codes: Int[Tensor, "*shape"]) -> Float64[Tensor, "*shape"]:
        """Return the scores whose codes are given."""
        if self.raw:
            return codes.view(self._precision.floating).double()
        return values(codes, self._precision)

    def reaching_rows(self, thresholds: Int[Tensor, " n"]) -> Found:
        """Return the pairs whose code reaches their row's threshold."""
        peaks = self._lane_peaks[: self.n]
        row, segment, lane, codes = _search(self._by_lane, peaks, thresholds[:, None])
        column = (segment * LANES + lane).clamp_(max=self.w - 1)  # a copy means the last
        return Found(row, column, self.values(codes))

    def reaching_columns(self, thresholds: Int[Tensor, " w"]) -> Found:
        """Return the pairs whose code reaches their column's threshold, rows rising."""
        chunk, offset, column, codes = _search(self._by_chunk, self._real_chunks(), thresholds)
        row = chunk * self._chunk + offset
        real = row < self.n
        return Found(row[real], column[real], self.values(codes[real]))

    def rows_reaching(self, thresholds: Int[Tensor, " w"]) -> Int64[Tensor, " m"]:
        """Return the rows of all chunks in which some code reaches its column's threshold."""
        chunks = (self._real_chunks() >= thresholds).any(1).nonzero()  # (m, 1)
        rows = chunks * self._chunk + torch.arange(self._chunk, device=chunks.device)
        return rows[rows < self.n]

    def floats(self, rows: Int64[Tensor, " m"]) -> Float[Tensor, "m v"]:
        """Return these rows' scores in float32, including copied columns."""
        codes = self._codes.index_select(0, rows)
        if not self.raw:
            flip_negatives(codes)
        return codes.view(self._precision.floating).float()


def _by_lane(scores: Shaped[Tensor, "m v"]) -> Shaped[Tensor, "m segments lanes"]:
    return scores.view(len(scores), scores.shape[1] // LANES, LANES)


def lane_peaks(scores: Float[Tensor, "m v"]) -> Float[Tensor, "m lanes"]:
    """Return each row's highest score in every lane."""
    return _by_lane(scores).amax(1)


def reaching(
    scores: Float[Tensor, "m v"], peaks: Float[Tensor, "m lanes"], thresholds: Float[Tensor, " m"]
) -> Found:
    """Return the pairs of a float matrix that reach their row's threshold."""
    row, segment, lane, numbers = _search(_by_lane(scores), peaks, thresholds[:, None])
    return Found(row, segment * LANES + lane, numbers.double())


def _search(
    folded: Shaped[Tensor, "a m c"], peaks: Shaped[Tensor, "a2 c2"], thresholds: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the positions (a, m, c) and entries that reach thresholds over (a, c).

    Entries beyond the peaks are left out.
    """
    a, c = peaks.shape
    folded, thresholds = folded[:a, :, :c], thresholds.expand(a, c)
    limit = folded.numel() // 16  # scoring one pair in 16 costs as much as the float64 product
    outer, inner = (peaks >= thresholds).nonzero(as_tuple=True)
    if len(outer) > limit:
        raise Crowded
    if len(outer) * folded.shape[1] > folded.numel() // 4:  # a plain comparison is cheaper
        outer, middle, inner = (folded >= thresholds[:, None]).nonzero(as_tuple=True)
    else:
        entries = folded[outer, :, inner]  # (h, m)
        hit, middle = (entries >= thresholds[outer, inner][:, None]).nonzero(as_tuple=True)
        outer, inner = outer[hit], inner[hit]
    if len(outer) > limit:
        raise Crowded
    return outer, middle, inner, folded[outer, middle, inner]
