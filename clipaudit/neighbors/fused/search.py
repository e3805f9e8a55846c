"""Searches with the fused kernel: one launch scores a test set, and few scores leave the chip.

The kernel multiplies float16 numbers and sums in float32, so the bound of `screening` holds, with
nothing rounded to float16. It keeps a pair if one of three decisions can depend on it. These are
then made in float64, as in all searches on torch: by maxima and by sorting, which depend on the set
of pairs, never on the order in which the kernel's programs kept them.

A pair matters to its row if no other pair of the row is certainly better: its score is within twice
the bound of the highest. It matters to its query if its score is at least the query's k-th best
exact similarity so far minus the bound. A query that has none yet uses k rows of a sample of the
block, which are candidates themselves. If the list of pairs overflows, the launch is dropped and
fewer rows are tried, until the exact product is as fast.
"""

from typing import Unpack

import torch
from jaxtyping import Float16, Float64, Int64
from torch import Tensor
from torch.nn.functional import pad

from clipaudit.neighbors.best_queries import BestQueries
from clipaudit.neighbors.deciding import DENSE_ROWS, EXCESS_ROUNDING, Deciding
from clipaudit.neighbors.fused.launch import Tiling, find
from clipaudit.neighbors.interface import Queries, Resources
from clipaudit.neighbors.panels import Block, Group, cosines
from clipaudit.neighbors.screening import Precision
from clipaudit.neighbors.tiles import Found

_PRECISION = Precision(torch.float16, torch.int32, 2.0**-24, 2.0**-126)  # results are float32
_PLACES = 16  # one pair in this many has a place: scoring more costs as much as all exactly
_MOST_PLACES = 2**30  # the kernel counts them in int32
_SAMPLE_ROWS = 4_096
TILING = Tiling()


class Fused(Deciding):
    """A `Search` by a Triton kernel, on NVIDIA GPUs with tensor cores for float16 (since Ampere).

    Memory grows with block_rows * block_queries / 16, and with the queries.
    """

    def __init__(
        self,
        queries: Queries,
        k: int,
        *,
        tiling: Tiling = TILING,
        **resources: Unpack[Resources],
    ) -> None:
        """Start with no train samples; only `queries` and `k` affect the output."""
        super().__init__(queries, k, _PRECISION, **resources)
        device, block_rows = resources["device"], resources["block_rows"]
        self._tiling = tiling
        self._low = self._padded(self._queries.low)
        self._at_once = block_rows  # fewer after an overflow, and more again
        capacity = min(max(1, block_rows * resources["block_queries"] // _PLACES), _MOST_PLACES)
        self._buffer = torch.empty((3, capacity), dtype=torch.int32, device=device)

    def _search(
        self, block: Block, group: Group, nearest: BestQueries, excess: BestQueries
    ) -> None:
        """Screen as many rows as the buffer has places for; if these are few, do not screen."""
        if not group.panels:
            return
        low = self._padded(block.low[: block.n])
        reached = self._reached_by_sample(block, group)
        start = 0
        while start < block.n:
            stop = min(start + self._at_once, block.n)
            floors = torch.maximum(self._kth(group), reached) - block.bound
            found = self._screen(low[start:stop], group, floors, block.bound)
            if found is None and stop - start > DENSE_ROWS:
                self._at_once = (stop - start) // 2
                continue
            if found is None:
                rows = torch.arange(start, stop, device=low.device)
                for panel in group.panels:
                    self._search_exactly(block, rows, panel, nearest, excess)
            else:
                self._at_once = min(2 * self._at_once, self._block_rows)
                rows = found.rows + start
                self._decide(block, group, rows, found, floors, nearest, excess)
            start = stop

    def _reached_by_sample(self, block: Block, group: Group) -> Float64[Tensor, " w"]:
        """Return what k rows of the block reach, for each query of a set if one has no k yet."""
        kth = self._kth(group)
        if block.n < self._k or not bool(kth.isneginf().any()):
            return kth
        size = max(_SAMPLE_ROWS, 4 * self._k)
        sample = block.stored[: block.n : max(1, block.n // size)]
        reached = []
        for panel in group.panels:
            similarity = cosines(sample, self._queries.stored[panel.start : panel.stop])
            reached.append(similarity.topk(self._k, dim=0, sorted=False).values.amin(0))
        return torch.cat(reached)

    def _kth(self, group: Group) -> Float64[Tensor, " w"]:
        return self._columns.kth(group.panels[0].start, group.panels[-1].stop)

    def _screen(
        self,
        rows: Float16[Tensor, "n p"],
        group: Group,
        floors: Float64[Tensor, " w"],
        bound: float,
    ) -> Found | None:
        """Return the pairs that can matter, by places in the set; None if they are too many."""
        first, last = group.panels[0], group.panels[-1]
        gaps = None
        if first.gaps is not None and self._queries.gaps is not None:
            gaps = self._queries.gaps[first.start : last.stop].float()
        return find(
            rows,
            self._low[first.start : last.stop],
            floors.float().nextafter(floors.new_tensor(-torch.inf, dtype=torch.float32)),
            gaps,
            2 * (bound + EXCESS_ROUNDING),  # also covers the thresholds' roundings
            self._buffer,
            self._tiling,
        )

    def _decide(
        self,
        block: Block,
        group: Group,
        rows: Int64[Tensor, " m"],
        found: Found,
        floors: Float64[Tensor, " w"],
        nearest: BestQueries,
        excess: BestQueries,
    ) -> None:
        """Offer the pairs in both directions."""
        queries = found.columns + group.panels[0].start
        nearest.offer_screened(rows, queries, found.values)
        if group.panels[0].gaps is not None and self._queries.gaps is not None:
            excess.offer_screened(rows, queries, found.values - self._queries.gaps[queries])
        self._settle(block, nearest, excess)
        live = found.values >= floors[found.columns]
        self._fold(block, rows[live], queries[live], found.values[live])

    def _padded(self, vectors: Float16[Tensor, "n d"]) -> Float16[Tensor, "n p"]:
        """Return the vectors with zeros up to a multiple of the kernel's step."""
        missing = -vectors.shape[1] % self._tiling.step
        return pad(vectors, (0, missing)).contiguous() if missing else vectors
