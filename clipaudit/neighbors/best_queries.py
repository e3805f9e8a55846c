"""Finds the best query of every train row, first by screened values, finally by exact ones."""

from collections.abc import Callable

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from clipaudit.neighbors.screening import check_bound

_NOBODY = torch.iinfo(torch.int64).max  # loses every comparison for the lowest query

Scorer = Callable[[Int64[Tensor, " m"], Int64[Tensor, " m"]], Float64[Tensor, " m"]]


class BestQueries:
    """For each of n rows, the query with the highest value strictly above `start`.

    Values are within `bound` of their screened values. Screened offers wait until `settle` computes
    exact scores for those that can still win; the lowest query wins a tie, in any order of offers.
    """

    def __init__(self, n: int, start: float, bound: float, device: str) -> None:
        """Start without offers."""
        self._start = start
        self._bound = bound
        self._value = torch.full((n,), start, dtype=torch.float64, device=device)
        self._query = torch.full((n,), _NOBODY, device=device)
        self._seen = torch.full((n,), -torch.inf, dtype=torch.float64, device=device)
        self._waiting: list[tuple[Tensor, Tensor, Tensor]] = []
        self._patience = 8 * n  # offers that may wait: memory, never results

    def threshold(
        self, rows: Int64[Tensor, " m"], highest: Float64[Tensor, " m"]
    ) -> Float64[Tensor, " m"]:
        """Return the screened value below which no offer can win these rows.

        `highest` is the highest screened value among the offers that are about to be made.
        """
        seen = torch.maximum(self._seen[rows], highest)
        return torch.maximum(seen - 2 * self._bound, self._value[rows] - self._bound)

    def offer_screened(
        self,
        rows: Int64[Tensor, " m"],
        queries: Int64[Tensor, " m"],
        screened: Float64[Tensor, " m"],
    ) -> None:
        """Offer queries by their screened values."""
        self._seen.scatter_reduce_(0, rows, screened, "amax")
        self._waiting.append((rows, queries, screened))

    def offer(
        self,
        rows: Int64[Tensor, " m"],
        queries: Int64[Tensor, " m"],
        values: Float64[Tensor, " m"],
    ) -> None:
        """Offer queries by their exact values."""
        above = values > self._start
        rows, queries, values = rows[above], queries[above], values[above]
        best = self._value.scatter_reduce(0, rows, values, "amax")
        self._query[best > self._value] = _NOBODY
        self._value = best
        wins = values == best[rows]
        self._query.scatter_reduce_(0, rows[wins], queries[wins], "amin")

    def settle(self, score: Scorer, *, last: bool = True) -> None:
        """Score the waiting offers that can still win; unless `last`, only if they are many."""
        if not last and sum(len(rows) for rows, _, _ in self._waiting) <= self._patience:
            return
        if self._waiting:
            rows, queries, screened = map(torch.cat, zip(*self._waiting, strict=True))
            live = screened >= self.threshold(rows, screened)
            rows, queries, screened = rows[live], queries[live], screened[live]
            values = score(rows, queries)
            check_bound(screened, values, self._bound)
            self.offer(rows, queries, values)
            self._waiting = []

    def winners(self) -> Int64[Tensor, " n"]:
        """Return the winning query of each row, -1 if none is above the start."""
        return torch.where(self._query == _NOBODY, -1, self._query)

    def values(self) -> Float64[Tensor, " n"]:
        """Return the winners' exact values, and the start if none won."""
        return self._value
