"""Shares code among searches on torch: each screens in its own way, exact float64 sums decide.

A pair within the error bound of a decision is scored exactly; others cannot matter. If too many
are, the exact product of all pairs replaces screening.
"""

from abc import ABC, abstractmethod
from typing import Unpack

import numpy as np
import torch
from jaxtyping import Float16, Float64, Int64
from torch import Tensor

from clipaudit.neighbors import screening
from clipaudit.neighbors.best_queries import BestQueries
from clipaudit.neighbors.columns import Columns
from clipaudit.neighbors.interface import (
    Queries,
    Resources,
    RowBest,
    TopK,
    check_norms,
    check_vectors,
    vector_norms,
)
from clipaudit.neighbors.panels import Block, Group, Operands, Panel, cosines, pair_cosines

DENSE_ROWS = 1_024  # rows of a float64 tile; with 1,024 queries 8 MB
EXCESS_ROUNDING = 2.0**-17  # three roundings to float32 of numbers up to 32


class Deciding(ABC):
    """A `Search` in torch; subclasses define how a block is screened against a test set."""

    def __init__(
        self,
        queries: Queries,
        k: int,
        precision: screening.Precision,
        **resources: Unpack[Resources],
    ) -> None:
        """Start with no train samples; only `queries` and `k` affect the output."""
        self._dimension = queries.dimension
        self._k = k
        self._device = resources["device"]
        self._block_rows = resources["block_rows"]
        self._threads = resources["threads"]
        self._precision = precision
        self._queries = Operands(queries, precision, self._device, resources["block_queries"])
        self._columns = Columns(len(queries.vectors), k, self._device)

    def rows(
        self, addresses: Int64[np.ndarray, " n"], block: Float16[np.ndarray, "n d"]
    ) -> RowBest:
        """Return the block's nearest queries, and remember the block for `top`."""
        check_vectors(block, "train block", self._dimension)
        if len(block) > self._block_rows:  # check all of it before a part is remembered
            check_norms(vector_norms(block), addresses, "train")
        with screening.strict_products(self._threads):
            found = []
            for start in range(0, len(block), self._block_rows):
                part = slice(start, start + self._block_rows)
                rows = self._queries.block(addresses[part], block[part])
                check_norms(rows.norms(), addresses[part], "train")
                found.append([self._search_set(rows, group) for group in self._queries.groups])
        return _row_best(found, len(block), len(self._queries.groups))

    def top(self) -> TopK:
        """Return each query's nearest train samples among all blocks so far."""
        return self._columns.top()

    def _search_set(self, block: Block, group: Group) -> Tensor:
        """Return the set's four columns of a `RowBest`, in float64; query numbers fit."""
        nearest = BestQueries(block.n, -torch.inf, block.bound, self._device)
        excess = BestQueries(block.n, 0.0, block.bound + EXCESS_ROUNDING, self._device)
        self._search(block, group, nearest, excess)
        crossed = excess.winners()
        if group.free is not None:
            crossed.fill_(group.free)
        rows = (crossed >= 0).nonzero()[:, 0]
        beyond = torch.full_like(nearest.values(), -torch.inf)
        beyond[rows] = self._exact(block, rows, crossed[rows])
        return torch.stack([nearest.values(), nearest.winners().double(), beyond, crossed.double()])

    @abstractmethod
    def _search(
        self, block: Block, group: Group, nearest: BestQueries, excess: BestQueries
    ) -> None:
        """Offer all pairs that can matter, for both values and in the columns."""

    def _settle(
        self, block: Block, nearest: BestQueries, excess: BestQueries, *, last: bool = True
    ) -> None:
        nearest.settle(lambda rows, queries: self._exact(block, rows, queries), last=last)
        excess.settle(lambda rows, queries: self._excess(block, rows, queries), last=last)

    def _fold(
        self,
        block: Block,
        rows: Int64[Tensor, " m"],
        queries: Int64[Tensor, " m"],
        screened: Float64[Tensor, " m"],
    ) -> None:
        """Offer candidates of the columns by their exact similarities."""
        exact = self._exact(block, rows, queries)
        screening.check_bound(screened, exact, block.bound)
        self._columns.fold(queries, exact, block.addresses[rows])

    def _search_exactly(
        self,
        block: Block,
        rows: Int64[Tensor, " m"],
        panel: Panel,
        nearest: BestQueries,
        excess: BestQueries,
    ) -> None:
        """Search without screening, some rows at a time."""
        queries = self._queries.stored[panel.start : panel.stop]
        for some in torch.split(rows, DENSE_ROWS):
            similarity = cosines(block.stored[some], queries)
            highest, column = similarity.max(1)  # the first of equals
            nearest.offer(some, column + panel.start, highest)
            if panel.gaps is not None:
                highest, column = (similarity - panel.gaps[: similarity.shape[1]]).max(1)
                excess.offer(some, column + panel.start, highest)
            kth = self._columns.kth(panel.start, panel.stop)
            row, column = (similarity >= kth).nonzero(as_tuple=True)
            addresses = block.addresses[some][row]
            self._columns.fold(column + panel.start, similarity[row, column], addresses)

    def _exact(
        self, block: Block, rows: Int64[Tensor, " m"], queries: Int64[Tensor, " m"]
    ) -> Float64[Tensor, " m"]:
        return pair_cosines(block.stored, self._queries.stored, rows, queries)

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
