"""The fast search: low-precision products find candidates, exact float64 sums decide.

For every block of train rows and panel of queries one product in screening precision serves three
questions: each row's best query, each row's best query beyond its gap, each query's k best rows.
What lies within the error bound of a decision is scored exactly; what does not cannot matter. Where
too much does (copies of one vector, k near the number of rows), the tile is computed exactly.
"""

import numpy as np
import torch
from jaxtyping import Float16, Float64, Int, Int64
from torch import Tensor

from clipaudit.neighbors import screening
from clipaudit.neighbors.columns import Columns
from clipaudit.neighbors.interface import Queries, RowBest, TopK, check_norms, check_vectors
from clipaudit.neighbors.panels import Block, Group, Operands, Panel, dot_products, load
from clipaudit.neighbors.races import Race
from clipaudit.neighbors.tiles import Crowded, Found, Tile, lane_peaks, reaching

_DENSE_ROWS = 1_024  # rows of a float64 tile; with 1,024 queries 8 MB
_GAP_ROWS = 4_096  # rows tested against the gaps at once
_EXCESS_ROUNDING = 2.0**-17  # three roundings to float32 of numbers up to 32


class Screened:
    """A `Search` in torch, on a CPU or a CUDA device."""

    def __init__(
        self,
        queries: Queries,
        k: int,
        *,
        device: str,
        block_rows: int,
        block_queries: int,
        threads: int | None = None,
        precision: str | None = None,
    ) -> None:
        """Start with no train samples.

        Only `queries` and `k` show in the output. `precision` names one of
        `screening.PRECISIONS`; None takes the fastest of the device.
        """
        self._dimension = queries.dimension
        self._k = k
        self._device = device
        self._block_rows = block_rows
        self._threads = threads
        self._precision = (
            screening.PRECISIONS[precision] if precision else screening.fastest(device)
        )
        self._queries = Operands(queries, self._precision, device, block_queries)
        self._columns = Columns(len(queries.vectors), k, device)
        self._memory = torch.empty(0, dtype=self._precision.floating, device=device)

    def rows(
        self, addresses: Int64[np.ndarray, " n"], block: Float16[np.ndarray, "n d"]
    ) -> RowBest:
        """Return the block's nearest queries, and remember the block for `top`."""
        check_vectors(block, "train block", self._dimension)
        with screening.strict_products(self._threads):
            norms = self._norms(block)
            check_norms(norms.numpy(), addresses, "train")
            found = []
            for start in range(0, len(block), self._block_rows):
                part = slice(start, start + self._block_rows)
                rows = self._queries.block(addresses[part], block[part], norms[part])
                found.append([self._search_set(rows, group) for group in self._queries.groups])
        return _row_best(found, len(block), len(self._queries.groups))

    def top(self) -> TopK:
        """Return each query's nearest train samples among all blocks so far."""
        return self._columns.top()

    def _norms(self, block: Float16[np.ndarray, "n d"]) -> Tensor:
        norms = torch.empty(len(block))
        for start in range(0, len(block), screening.STRIP_ROWS):
            part = slice(start, start + screening.STRIP_ROWS)
            norms[part] = screening.row_norms(load(block[part], self._device))
        return norms

    def _search_set(self, block: Block, group: Group) -> Tensor:
        """Return the set's four columns of a `RowBest`, in float64; query numbers fit."""
        nearest = Race(block.n, -torch.inf, block.bound, self._device)
        excess = Race(block.n, 0.0, block.bound + _EXCESS_ROUNDING, self._device)
        for panel in group.panels:
            last = panel is group.panels[-1]
            self._search(block, panel, nearest, excess)
            nearest.settle(lambda rows, queries: self._exact(block, rows, queries), last=last)
            excess.settle(lambda rows, queries: self._excess(block, rows, queries), last=last)
        crossed = excess.winners()
        if group.free is not None:
            crossed.fill_(group.free)
        rows = (crossed >= 0).nonzero()[:, 0]
        beyond = torch.full_like(nearest.values(), -torch.inf)
        beyond[rows] = self._exact(block, rows, crossed[rows])
        return torch.stack([nearest.values(), nearest.winners().double(), beyond, crossed.double()])

    def _search(self, block: Block, panel: Panel, nearest: Race, excess: Race) -> None:
        try:
            found = self._screen(block, panel, nearest, excess)
        except Crowded:
            self._search_exactly(block, panel, nearest, excess)
        else:
            queries = found.columns + panel.start
            exact = self._exact(block, found.rows, queries)
            screening.check_bound(found.values, exact, block.bound)
            self._columns.fold(queries, exact, block.addresses[found.rows])

    def _screen(self, block: Block, panel: Panel, nearest: Race, excess: Race) -> Found:
        """Make the rows' offers, and return the candidates of the columns."""
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
        self, tile: Tile, block: Block, panel: Panel, nearest: Race
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
        self, tile: Tile, panel: Panel, rows: Int64[Tensor, " m"], excess: Race
    ) -> None:
        """Offer the queries whose similarity to these rows exceeds their gap by the most."""
        assert panel.gaps is not None
        scores = tile.floats(rows)
        scores -= panel.gaps.float()
        peaks = lane_peaks(scores)
        thresholds = excess.threshold(rows, peaks.amax(1).double()).float()
        found = reaching(scores, peaks, thresholds)
        queries = panel.start + found.columns.clamp(max=tile.w - 1)  # a copy stands for the last
        excess.offer_screened(rows[found.rows], queries, found.values)

    def _search_exactly(self, block: Block, panel: Panel, nearest: Race, excess: Race) -> None:
        """Do without screening, some rows at a time."""
        queries = self._queries.vectors[panel.start : panel.stop].double()
        for some in torch.split(torch.arange(block.n, device=queries.device), _DENSE_ROWS):
            similarity = block.vectors[some].double() @ queries.T
            similarity += 0.0  # -0.0 becomes 0.0
            highest, column = similarity.max(1)  # the first of equals
            nearest.offer(some, column + panel.start, highest)
            if panel.gaps is not None:
                highest, column = (similarity - panel.gaps[: len(queries)]).max(1)
                excess.offer(some, column + panel.start, highest)
            kth = self._columns.kth(panel.start, panel.stop)
            row, column = (similarity >= kth).nonzero(as_tuple=True)
            addresses = block.addresses[some][row]
            self._columns.fold(column + panel.start, similarity[row, column], addresses)

    def _exact(
        self, block: Block, rows: Int64[Tensor, " m"], queries: Int64[Tensor, " m"]
    ) -> Float64[Tensor, " m"]:
        return dot_products(block.vectors, self._queries.vectors, rows, queries)

    def _excess(
        self, block: Block, rows: Int64[Tensor, " m"], queries: Int64[Tensor, " m"]
    ) -> Float64[Tensor, " m"]:
        assert self._queries.gaps is not None
        return self._exact(block, rows, queries) - self._queries.gaps[queries]


def _row_best(found: list[list[Tensor]], n: int, g: int) -> RowBest:
    """Join the columns of all sets, and the rows of all blocks."""
    joined = np.empty((4, n, g))
    start = 0
    for sets in found:
        for group, columns in enumerate(sets):
            joined[:, start : start + columns.shape[1], group] = columns.cpu().numpy()
        start += sets[0].shape[1] if sets else 0
    similarity, query, beyond, crossed = joined
    return RowBest(similarity, query.astype(np.int64), beyond, crossed.astype(np.int64))
