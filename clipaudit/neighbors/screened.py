"""Searches fast: low-precision products find candidates, exact float64 sums decide.

For every block of train rows and panel of queries, one product in screening precision serves three
searches: each row's best query, each row's best query beyond its gap, each query's k best rows.
Pairs within the error bound of a decision are scored exactly; others cannot matter. If too many are
(copies of one vector, k near the number of rows), the tile is computed exactly.
"""

from typing import Unpack

import torch
from jaxtyping import Float64, Int, Int64
from torch import Tensor

from clipaudit.neighbors import screening
from clipaudit.neighbors.best_queries import BestQueries
from clipaudit.neighbors.deciding import Deciding
from clipaudit.neighbors.interface import Queries, Resources
from clipaudit.neighbors.panels import Block, Group, Panel
from clipaudit.neighbors.tiles import Crowded, Found, Tile, lane_peaks, reaching

_GAP_ROWS = 4_096  # rows tested against the gaps at once


class Screened(Deciding):
    """A `Search` in torch, on a CPU or a CUDA device."""

    def __init__(
        self,
        queries: Queries,
        k: int,
        *,
        precision: str | None = None,
        **resources: Unpack[Resources],
    ) -> None:
        """Start with no train samples.

        Only `queries` and `k` affect the output. `precision` names one of
        `screening.PRECISIONS`; None takes the fastest of the device.
        """
        device = resources["device"]
        chosen = screening.PRECISIONS[precision] if precision else screening.fastest(device)
        super().__init__(queries, k, chosen, **resources)
        self._memory = torch.empty(0, dtype=self._precision.floating, device=device)

    def _search(
        self, block: Block, group: Group, nearest: BestQueries, excess: BestQueries
    ) -> None:
        """Screen panel by panel; compute a crowded one exactly."""
        for panel in group.panels:
            try:
                found = self._screen(block, panel, nearest, excess)
            except Crowded:
                every = torch.arange(block.n, device=block.addresses.device)
                self._search_exactly(block, every, panel, nearest, excess)
            else:
                self._fold(block, found.rows, found.columns + panel.start, found.values)
            self._settle(block, nearest, excess, last=panel is group.panels[-1])

    def _screen(
        self, block: Block, panel: Panel, nearest: BestQueries, excess: BestQueries
    ) -> Found:
        """Add the rows' offers, and return the candidates of the columns."""
        tile = self._tile(block, panel)
        rows, columns, gaps = self._thresholds(tile, block, panel, nearest)
        lowest = min(int(codes.min()) for codes in (rows, columns, gaps) if codes is not None)
        if lowest < 0:
            tile.order()
            rows, columns, gaps = self._thresholds(tile, block, panel, nearest)
        found = tile.reaching_rows(rows)
        nearest.offer_screened(found.rows, found.columns + panel.start, found.values)
        if gaps is not None:
            for some in torch.split(tile.rows_reaching(gaps), _GAP_ROWS):
                self._screen_gaps(tile, panel, some, excess)
        return tile.reaching_columns(columns)

    def _tile(self, block: Block, panel: Panel) -> Tile:
        b, v = len(block.low), len(panel.low)
        if self._memory.numel() < b * v:
            self._memory = self._memory.new_empty(b * v)
        scores = self._memory[: b * v].view(b, v)
        tile = Tile(scores, (block.n, panel.stop - panel.start), self._k)
        tile.fill(block.low, panel.low)
        return tile

    def _thresholds(
        self, tile: Tile, block: Block, panel: Panel, nearest: BestQueries
    ) -> tuple[Int[Tensor, " n"], Int[Tensor, " w"], Int[Tensor, " w"] | None]:
        """Return the codes below which a pair cannot matter to rows, columns and gaps."""
        highest = tile.values(tile.highest())
        every = torch.arange(block.n, device=highest.device)
        rows = self._codes(nearest.threshold(every, highest))
        columns = self._codes(self._columns.kth(panel.start, panel.stop) - block.bound)
        if tile.chunks_reaching(columns) > 2 * self._k * tile.w:  # far more than can stay
            kth = tile.kth_highest(self._k)
            if kth is not None:
                within = self._codes(tile.values(kth) - 2 * block.bound)
                columns = torch.maximum(columns, within)
        if panel.gaps is None:
            return rows, columns, None
        return rows, columns, self._codes(panel.gaps[: tile.w] - block.bound)

    def _codes(self, numbers: Float64[Tensor, " m"]) -> Int[Tensor, " m"]:
        return screening.floor_codes(numbers, self._precision)

    def _screen_gaps(
        self, tile: Tile, panel: Panel, rows: Int64[Tensor, " m"], excess: BestQueries
    ) -> None:
        """Offer the queries whose similarity to these rows exceeds their gap by the most."""
        assert panel.gaps is not None
        scores = tile.floats(rows)
        scores -= panel.gaps.float()
        peaks = lane_peaks(scores)
        thresholds = excess.threshold(rows, peaks.amax(1).double()).float()
        found = reaching(scores, peaks, thresholds)
        queries = panel.start + found.columns.clamp(max=tile.w - 1)  # a copy means the last
        excess.offer_screened(rows[found.rows], queries, found.values)
