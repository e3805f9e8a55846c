"""The operands of a screened search on their device: panels of queries and blocks of train rows."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float16, Float32, Float64, Int64
from torch import Tensor

from clipaudit.neighbors.interface import Queries
from clipaudit.neighbors.screening import Precision, error_bound, rounded, row_norms
from clipaudit.neighbors.tiles import LANES, ROW_MULTIPLE


@dataclass(frozen=True)
class Panel:
    """Neighbouring queries of one set, `start` to `stop`, filled up with copies of the last."""

    start: int
    stop: int
    low: Float[Tensor, "v d"]  # in screening precision
    gaps: Float64[Tensor, " v"] | None  # None where there is no gap to test


@dataclass(frozen=True)
class Group:
    """One test set: its panels, and its lowest query with gap -inf, which everything exceeds."""

    panels: list[Panel]
    free: int | None


@dataclass(frozen=True)
class Block:
    """Train rows, filled up with copies of the last of the n real ones."""

    vectors: Float16[Tensor, "b d"]
    low: Float[Tensor, "b d"]  # in screening precision
    addresses: Int64[Tensor, " n"]
    bound: float  # how far a screened similarity can be from the exact one

    @property
    def n(self) -> int:
        """The number of real rows."""
        return len(self.addresses)


class Operands:
    """All queries on the device, exactly and in screening precision, cut into panels."""

    def __init__(
        self, queries: Queries, precision: Precision, device: str, block_queries: int
    ) -> None:
        """Copy the queries to the device."""
        self.vectors = load(queries.vectors, device)
        self.gaps = None if queries.gaps is None else torch.from_numpy(queries.gaps).to(device)
        self._rounded = rounded(self.vectors, row_norms(self.vectors), precision)
        self._precision = precision
        self.groups = [self._group(start, stop, block_queries) for start, stop in queries.sets()]

    def block(
        self,
        addresses: Int64[np.ndarray, " n"],
        vectors: Float16[np.ndarray, "n d"],
        norms: Float32[Tensor, " n"],
    ) -> Block:
        """Return one or more train rows of these norms, ready to be multiplied."""
        exact = load(vectors, str(self.vectors.device), ROW_MULTIPLE)
        low = rounded(exact, norms, self._precision)
        on_device = torch.from_numpy(addresses.copy()).to(self.vectors.device)
        return Block(
            exact, low.vectors, on_device, error_bound(low, self._rounded, self._precision)
        )

    def _group(self, start: int, stop: int, block_queries: int) -> Group:
        free = None
        if self.gaps is not None and bool(torch.isneginf(self.gaps[start:stop]).any()):
            free = start + int(torch.isneginf(self.gaps[start:stop]).nonzero()[0, 0])
        tested = self.gaps if free is None else None
        panels = [
            self._panel(first, min(first + block_queries, stop), tested)
            for first in range(start, stop, block_queries)
        ]
        return Group(panels, free)

    def _panel(self, start: int, stop: int, gaps: Float64[Tensor, " q"] | None) -> Panel:
        width = -(-(stop - start) // LANES) * LANES
        index = torch.arange(start, start + width, device=self.vectors.device).clamp_(max=stop - 1)
        return Panel(
            start, stop, self._rounded.vectors[index], None if gaps is None else gaps[index]
        )


def load(
    vectors: Float16[np.ndarray, "n d"], device: str, multiple: int = 1
) -> Float16[Tensor, "b d"]:
    """Copy vectors to the device, repeating the last until their number is a multiple."""
    n, d = vectors.shape
    loaded = torch.empty((-(-n // multiple) * multiple, d), dtype=torch.float16)
    array = loaded.numpy()  # NumPy reads Arrow's read-only memory, torch warns at it
    array[:n] = vectors
    array[n:] = vectors[-1:]
    return loaded.to(device)


def dot_products(
    left: Float16[Tensor, "n d"],
    right: Float16[Tensor, "q d"],
    rows: Int64[Tensor, " m"],
    columns: Int64[Tensor, " m"],
) -> Float64[Tensor, " m"]:
    """Return the exact similarities of pairs; products fit float32, and their sums float64."""
    at_once = 64 if left.device.type == "cpu" else 65_536  # 64 pairs stay in the cache
    ones = torch.ones(left.shape[1], dtype=torch.float64, device=left.device)
    out = torch.empty(len(rows), dtype=torch.float64, device=left.device)
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        product = left.index_select(0, rows[part]).float()
        product *= right.index_select(0, columns[part]).float()
        torch.mv(product.double(), ones, out=out[part])
    return out.add_(0.0)  # -0.0 becomes 0.0
